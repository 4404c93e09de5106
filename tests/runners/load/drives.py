"""Drive a small plan against a scripted server and read back what was captured."""

import asyncio
import ssl
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import uvloop

from runners.load.driver import drive
from runners.load.recorder import Recorder, seal_attempts, seal_wire
from runners.load.report import DriveReport
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.tables import PLAN
from tests.runners.load.servers import Behaviour, ScriptedServer, serving

PROMPTS: dict[str, dict[str, Any]] = {
    "p": {
        "prompt_ref": "p",
        "messages": '[{"content":"hé","role":"user"}]',
        "expanded": "<|im_start|>user\nhé",
        "token_ids": [1, 4093, 198],
    }
}


def plan_row(number: int = 1, segment: str = "cases", **changes: Any) -> dict[str, Any]:
    """A row of the plan with every column of the schema."""
    request = f"{segment}-{number:04d}"
    row: dict[str, Any] = dict.fromkeys(PLAN.names)
    row |= {
        "sequence": number,
        "phase": "measure",
        "segment": segment,
        "task_id": f"T-{request}",
        "session_id": f"S-{request}",
        "request_id": request,
        "model_call_id": f"M-{request}",
        "call_type": "generation",
        "endpoint": "chat",
        "prompt_ref": "p",
        "output_cap": 16,
        "temperature": 0.0,
        "top_p": 1.0,
        "top_k": 0,
        "stop": [],
        "ignore_eos": True,
    }
    assert set(changes) <= set(row)
    return row | changes


def load_of(**changes: Any) -> dict[str, Any]:
    """``spec["load"]`` with short waits; ``timeouts`` and ``retry`` are merged."""
    load: dict[str, Any] = {
        "kind": "closed",
        "concurrency": 1,
        "rate_per_s": None,
        "think_time_s": 0.0,
        "max_send_lag_s": 0.5,
        "connection_reuse": True,
        "drain_s": 5.0,
        "timeouts": {"connect_s": 5.0, "first_byte_s": 5.0, "total_s": 10.0},
        "retry": {"count": 0, "backoff_s": 0.0, "jitter": 0.0, "give_up": "count"},
        "seed": 0,
    }
    for name in ("timeouts", "retry"):
        load[name] = load[name] | changes.pop(name, {})
    return load | changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    report: DriveReport
    attempts: dict[str, dict[str, Any]]
    reads: dict[str, list[tuple[int, bytes]]]
    server: ScriptedServer

    @property
    def only(self) -> dict[str, Any]:
        (attempt,) = self.attempts.values()
        return attempt

    def received(self, attempt_id: str) -> bytes:
        return b"".join(data for _, data in self.reads.get(attempt_id, []))


def run(main: Coroutine[Any, Any, Any], *, loop: str = "uvloop") -> Any:
    return uvloop.run(main) if loop == "uvloop" else asyncio.run(main)


def drive_against(
    behaviour: Behaviour,
    folder: Path,
    *,
    rows: Sequence[Mapping[str, Any]] | None = None,
    prompts: Mapping[str, Mapping[str, Any]] | None = None,
    load: Mapping[str, Any] | None = None,
    loop: str = "uvloop",
    tls: ssl.SSLContext | None = None,
    **options: Any,
) -> Outcome:
    """One drive with its own server, segments under ``folder``, and everything read back from Parquet."""

    async def main() -> tuple[DriveReport, ScriptedServer]:
        async with serving(behaviour, tls=tls) as server:
            base_url = server.url.replace("http:", "https:") if tls else server.url
            report = await drive(
                [plan_row()] if rows is None else rows,
                PROMPTS if prompts is None else prompts,
                **{"base_url": base_url, "model": "m", **options},
                load=load_of() if load is None else load,
                recorder=recorder,
            )
            return report, server

    writer = SegmentWriter(folder / "segments", limit_bytes=2**26)
    recorder = Recorder(writer)
    writer.start()
    try:
        report, server = run(main(), loop=loop)
    finally:
        writer.close()
    attempts, reads = read_back(folder)
    return Outcome(report=report, attempts=attempts, reads=reads, server=server)


def read_back(
    folder: Path,
) -> tuple[dict[str, dict[str, Any]], dict[str, list[tuple[int, bytes]]]]:
    """Attempts by id and reads by attempt, sealed from the segments under ``folder``."""
    seal_attempts(folder / "segments", folder / "bundle")
    seal_wire(folder / "segments", folder / "bundle")
    rows = pq.read_table(folder / "bundle" / "attempts.parquet").to_pylist()
    reads: dict[str, list[tuple[int, bytes]]] = {}
    for path in sorted((folder / "bundle" / "wire").glob("*.parquet")):
        for read in pq.read_table(path).to_pylist():
            reads.setdefault(read["attempt_id"], []).append((read["t_ns"], read["data"]))
    attempts = {row["attempt_id"]: row for row in rows}
    assert len(attempts) == len(rows), "an attempt has more than one final row"
    return attempts, reads
