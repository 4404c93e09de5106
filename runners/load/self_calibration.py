"""The client's own error, measured before a run at the run's concurrency, on the product's own mock.

The mock (``stamped_server``) is another process on this host with absolute deadlines; it stamps its own
writes, so it need not be exact. The result holds for one host, one client version and one concurrency, and
is kept by these three, unless other processes disturbed it.
"""

import asyncio
import hashlib
import json
import math
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pyarrow.parquet as pq

from runners.load import stamps
from runners.load.driver import drive
from runners.load.recorder import Recorder, seal_attempts, seal_wire
from runners.protocol import host
from runners.protocol.errors import EnvironmentLacks, Finding
from runners.protocol.events import Segment
from runners.protocol.manifest import canonical
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.tables import PLAN
from runners.protocol.workspace import write_json

EVENTS = 25
MOST_STREAMS = 512
EVENTS_PER_S = 10_000  # well below what the mock can write on one busy core
FIRST_S = 0.05
SHORTEST_INTERVAL_S = 0.02
PATIENCE_S = 30.0
_CAPTURE = ("packing.py", "segment_writer.py", "segments.py")  # the loop packs what it reads
_ROOT = Path(__file__).resolve().parents[2]
_ONE_SECOND_NS = 1_000_000_000


def streams_at_once(rows: Sequence[Mapping[str, Any]]) -> int:
    """The concurrency that a plan's load asks of the client, between 1 and ``MOST_STREAMS``.

    Closed loop: its slots. Open loop: the most arrivals within one second, since what is in flight is not
    known beforehand.
    """
    load = [row for row in rows if row["segment"] == Segment.load]
    offsets = sorted(row["offset_ns"] for row in load if row["offset_ns"] is not None)
    slots = len({row["slot"] for row in load if row["offset_ns"] is None})
    busiest = start = 0
    for end, offset in enumerate(offsets):
        while offset - offsets[start] >= _ONE_SECOND_NS:
            start += 1
        busiest = max(busiest, end - start + 1)
    return min(MOST_STREAMS, max(1, slots, busiest))


async def calibrate(
    streams: int, *, cache: Path | None = None, server_cores: Sequence[int] = ()
) -> dict[str, Any]:
    """The client's error at ``streams`` streams at once: from ``cache`` if it was measured, else now."""
    known = None if cache is None else cache / f"{_key(streams)}.json"
    if known is not None and (found := _read(known)) is not None:
        return {**found, "cached": True}
    measured = await _measure(streams, server_cores)
    if known is not None and measured["disturbed"] is False:
        known.parent.mkdir(parents=True, exist_ok=True)
        write_json(known, measured)
    return {**measured, "cached": False}


def client_version() -> str:
    """sha256 of the client's source and of the libraries that its times depend on (16 hex digits)."""
    source = hashlib.sha256()
    here = Path(__file__).parent
    for path in (*sorted(here.glob("*.py")), *(here.parent / "protocol" / n for n in _CAPTURE)):
        source.update(path.name.encode() + b"\0" + path.read_bytes())
    for library in ("uvloop", "httptools"):
        source.update(f"{library} {version(library)}\n".encode())
    source.update(sys.version.encode())
    return source.hexdigest()[:16]


def _key(streams: int) -> str:
    named = [host.fingerprint(host.describe()), client_version(), streams]
    return hashlib.sha256(canonical(named)).hexdigest()[:32]


def _read(path: Path) -> dict[str, Any] | None:
    """A calibration kept earlier; None if there is none that can be read: it is then measured again."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("n_events") else None


async def _measure(streams: int, server_cores: Sequence[int]) -> dict[str, Any]:
    interval_s = max(SHORTEST_INTERVAL_S, streams / EVENTS_PER_S)
    cost = _Cost()
    with tempfile.TemporaryDirectory(prefix="assay-calibration-") as name:
        folder = Path(name)
        async with _server(interval_s, server_cores) as port:
            writer = SegmentWriter(folder / "segments", limit_bytes=2**30)
            recorder = Recorder(writer)
            writer.start()
            try:
                report = await drive(
                    [_row(n, slot=n) for n in range(streams)],
                    {"p": {"messages": "[]", "expanded": None, "token_ids": None}},
                    base_url=f"http://127.0.0.1:{port}",
                    model="calibration",
                    load=_load(streams),
                    recorder=recorder,
                )
            finally:
                writer.close()
        others, own_s = cost.others_cores(), cost.own_s()
        errors = _errors(folder)
    n = len(errors.arrival)
    return {
        "what": "the client against a mock that stamps its own writes, on this host's monotonic clock",
        "streams": streams,
        "n_events": n,
        "expected_events": streams * EVENTS,
        "interval_s": interval_s,
        "arrival_error": dict(errors.arrival.summary()),
        "ttft_error": dict(errors.ttft.summary()),
        "itl_error": dict(errors.gap.summary()),
        "loop_lag": dict(report.loop_lag),
        "cpu_s": own_s,
        "others_cores": others,
        "disturbed": None if others is None else others > host.DISTURBED_CORES,
        "client_version": client_version(),
        "host": host.fingerprint(host.describe()),
        "measured_unix_s": math.floor(time.time()),
    }


class _Cost:
    """CPU time of this process, of its children that have ended, and of everything else on the host."""

    def __init__(self) -> None:
        self._wall_s, self._times, self._host_s = time.monotonic(), os.times(), host.cpu_busy_s()

    def own_s(self) -> float:
        now, then = os.times(), self._times
        return now.user + now.system - then.user - then.system

    def others_cores(self) -> float | None:
        """Cores in use by processes that are neither the client nor the mock; null where not counted."""
        host_s, now, then = host.cpu_busy_s(), os.times(), self._times
        if host_s is None or self._host_s is None:
            return None
        children = (
            now.children_user + now.children_system - then.children_user - then.children_system
        )
        spent_s = host_s - self._host_s - self.own_s() - children
        return max(0.0, spent_s / (time.monotonic() - self._wall_s))


def _errors(folder: Path) -> stamps.ClientErrors:
    seal_attempts(folder / "segments", folder)
    seal_wire(folder / "segments", folder)
    sent = pq.ParquetFile(folder / "attempts.parquet").read(columns=["attempt_id", "sent_ns"])
    reads: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for path in sorted((folder / "wire").glob("*.parquet")):
        for row in pq.ParquetFile(path).read().to_pylist():
            reads[row["attempt_id"]].append((row["t_ns"], row["data"]))
    known = {r["attempt_id"]: r["sent_ns"] for r in sent.to_pylist() if r["sent_ns"] is not None}
    return stamps.compare(reads, known)


@asynccontextmanager
async def _server(interval_s: float, cores: Sequence[int]) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "runners.load.stamped_server"),
        *("--events", str(EVENTS), "--first-s", str(FIRST_S), "--interval-s", str(interval_s)),
        *("--cores", ",".join(map(str, cores))),
        stdin=PIPE,
        stdout=PIPE,
        cwd=_ROOT,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
        if not line:
            raise EnvironmentLacks(
                Finding(
                    field="client calibration",
                    seen=f"the mock server ended with {await process.wait()} before it listened",
                    allowed="a mock server on loopback",
                    remedy="Run python -m runners.load.stamped_server by hand, or declare "
                    "evidence.calibrate_client=false.",
                )
            )
        yield int(json.loads(line)["port"])
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE_S)
        except TimeoutError:
            process.kill()
            await process.wait()


def _row(number: int, *, slot: int) -> dict[str, Any]:
    request = f"calibration-{number:04d}"
    return dict.fromkeys(PLAN.names) | {
        "sequence": number,
        "phase": "warmup",
        "segment": Segment.load.value,
        "task_id": f"T-{request}",
        "session_id": f"S-{request}",
        "request_id": request,
        "model_call_id": f"M-{request}",
        "call_type": "generation",
        "endpoint": "chat",
        "slot": slot,
        "prompt_ref": "p",
        "output_cap": EVENTS,
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": 0,
        "stop": [],
        "ignore_eos": True,
        "after": [],
    }


def _load(streams: int) -> dict[str, Any]:
    return {
        "kind": "closed",
        "concurrency": streams,
        "rate_per_s": None,
        "think_time_s": 0.0,
        "max_send_lag_s": 0.05,
        "connection_reuse": True,
        "drain_s": PATIENCE_S,
        "timeouts": {"connect_s": PATIENCE_S, "first_byte_s": PATIENCE_S, "total_s": 60.0},
        "retry": {"count": 0, "backoff_s": 0.0, "jitter": 0.0, "give_up": "count"},
        "seed": 0,
    }
