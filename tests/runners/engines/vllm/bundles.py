"""The recorded run of vLLM (``tests/data/engines``) laid out as the bundle of a run."""

import gzip
import json
from pathlib import Path
from typing import Any

from runners.engines.base import EvidenceContext, PrintedContext
from tests.runners.engines.vllm.declared import ROOT, spec

DATA = ROOT / "tests" / "data" / "engines" / "vllm-0.32.0-cpu"
TRACE = "rank0.pt.trace.json.gz"


def server_info() -> dict[str, Any]:
    return dict(json.loads((DATA / "server_info.json").read_bytes()))


def log() -> str:
    return gzip.decompress((DATA / "engine.log.gz").read_bytes()).decode()


def lay(folder: Path, *, text: str | None = None, trace: bytes | None = None) -> Path:
    """A bundle folder with log, trace and the front end's events; ``text`` and ``trace`` in their place."""
    (folder / "trace").mkdir(parents=True)
    (folder / "engine.log").write_text(log() if text is None else text)
    recorded = (DATA / TRACE).read_bytes()
    (folder / "trace" / TRACE).write_bytes(recorded if trace is None else trace)
    (folder / "engine_events.jsonl").write_bytes((DATA / "front_events.jsonl").read_bytes())
    return folder


def evidence(bundle: Path, **settings: Any) -> EvidenceContext:
    return EvidenceContext(
        spec=spec(**settings),
        bundle=bundle,
        base_url="http://127.0.0.1:1",
        server_info=server_info(),
        version="0.32.0",
    )


def printed(bundle: Path) -> PrintedContext:
    return PrintedContext(
        spec=spec(),
        bundle=bundle,
        server_info=server_info(),
        anchors=json.loads((DATA / "anchors.json").read_bytes()),
        clock_domain="boot/ns/monotonic",
    )
