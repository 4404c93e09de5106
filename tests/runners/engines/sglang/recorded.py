"""The recorded server of SGLang (``tests/data/fixtures``) laid out as the bundle of a run."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runners.engines.base import EvidenceContext, Printed, PrintedContext
from runners.engines.sglang.printed import read
from runners.protocol.documents import Anchor
from tests.runners.engines.sglang.declared import FIXTURES, spec

# Of the recording: a request's received_time (monotonic) and its request_received_ts (wall) differ by this.
OFFSET_NS = 1_795_975_736_968_513_000
ANCHORS = [
    Anchor(wall_ns=OFFSET_NS + at * 10**9, monotonic_ns=at * 10**9, boottime_ns=0, spread_ns=2_000)
    for at in range(3300, 3600)
]
DOMAIN = "boot/ns/monotonic"
LAYERS = 30


def server_info() -> dict[str, Any]:
    return dict(json.loads((FIXTURES / "api" / "server_info.json").read_bytes()))


def log(*names: str) -> str:
    return "".join((FIXTURES / name).read_text() for name in names)


def printed(
    folder: Path, text: str, *, anchors: Sequence[Anchor] = ANCHORS, **settings: Any
) -> Printed:
    (folder / "engine.log").write_text(text)
    return read(
        PrintedContext(
            spec=spec(**settings),
            bundle=folder,
            server_info=server_info(),
            anchors=anchors,
            clock_domain=DOMAIN,
        )
    )


def evidence(folder: Path, text: str, *, document: dict[str, Any] | None = None) -> EvidenceContext:
    (folder / "engine.log").write_text(text)
    return EvidenceContext(
        spec=document or spec(),
        bundle=folder,
        base_url="http://127.0.0.1:1",
        server_info=server_info(),
        version="0.5.23",
    )


def write_trace(folder: Path, *, attention: int | None = None) -> Path:
    """A Chrome trace with the recorded steps, and the recorded operators dealt out over them evenly.

    Of the recording only names, counts and the steps' times were kept. ``attention`` changes one count.
    """
    summary = json.loads((FIXTURES / "profiler" / "trace_summary.json").read_bytes())
    steps = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": s["name"],
            "ts": s["ts_us"],
            "dur": s["dur_us"],
        }
        for s in summary["steps"]
    ]
    events = list(steps)
    for op in summary["ops"]:
        calls = attention if attention and "flash_attention_for_cpu" in op["name"] else op["calls"]
        if op["cat"] != "cpu_op":
            continue
        for call in range(calls):
            at = steps[call % len(steps)]["ts"] + 1
            events.append({"ph": "X", "cat": "cpu_op", "name": op["name"], "ts": at, "dur": 1})
    path = folder / "trace" / str(summary["file"])
    path.parent.mkdir(parents=True)
    document = {"traceEvents": events, "distributedInfo": {"world_size": 1}}
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return path
