"""An engine's own event log for tests, in the form of ``engine_events.jsonl``, and readings of it."""

import json
from typing import Any

from assay.analysis.engine_events import EngineEventReader
from assay.analysis.interpretation import Inputs, interpret
from assay.analysis.iterations import IterationLog
from assay.analysis.observing import MemoryLog
from assay.analysis.server_record import ServerRecord, ServerRecords
from assay.analysis.wire.attempt import Attempt

MS = 1_000_000
CLIENT = "unspecified"  # the clock domain of a stream that names none


class EngineLog:
    """Collects rows the way the torch engine writes them; times are given in ms."""

    def __init__(self, domain: str = CLIENT) -> None:
        self.rows: list[dict[str, Any]] = []
        self.add("clock", 0, clock_domain=domain, process="front", pid=1)
        self.add("clock", 0, clock_domain=domain, process="loop", pid=2)

    def add(self, event: str, t_ms: float, request: str | None = None, **value: Any) -> None:
        row: dict[str, Any] = {"event": event, "t_ns": round(t_ms * MS)}
        if request is not None:
            row["request"] = request
        self.rows.append({**row, **value})

    def step(
        self, t_ms: float, duration_ms: float, *parts: dict[str, Any], number: int = 1
    ) -> None:
        self.add(
            "iteration",
            t_ms,
            number=number,
            duration_ns=round(duration_ms * MS),
            requests=list(parts),
            running=len(parts),
            waiting=0,
            kv_used=1,
            kv_total=8,
        )

    def bytes(self) -> list[bytes]:
        return [json.dumps(row).encode() for row in self.rows]


def part(
    request: str, tokens_in: int, tokens_out: int, context: int, **more: Any
) -> dict[str, Any]:
    return {
        "request": request,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "context": context,
        **more,
    }


class Reading:
    """What the log says of some attempts."""

    def __init__(self, log: EngineLog, attempts: list[Attempt]) -> None:
        self.attempts = attempts
        self.records = ServerRecords(a.attempt_id for a in attempts)
        self.iterations = IterationLog({a.attempt_id: a.segment for a in attempts})
        self.memory = MemoryLog()
        self.reader = EngineEventReader(file="engine_events.jsonl", client_domain=CLIENT)
        for event in self.reader.records(log.bytes()):
            self.records.take(event)
            self.iterations.take(event, self.records)
            self.memory.take(event)
        self.records.settle()

    def record(self, attempt: str) -> ServerRecord:
        found = self.records.get(attempt)
        assert found is not None
        return found

    def document(self, **more: Any) -> Any:
        return interpret(
            Inputs(
                attempts=self.attempts,
                records=self.records,
                iterations=self.iterations,
                block_bytes=self.memory.block_bytes,
                **more,
            )
        )


def cancelled_in_decode(attempt: str = "a") -> EngineLog:
    """A request cancelled in mid-decode, inside a batch shared with ``b``.

    The client leaves at 100 ms; the front end sees it at 102, the step of 95 to 115 ends, the loop drops the
    request at 115 and its 4 blocks are free at 116 ms.
    """
    log = EngineLog()
    log.add("memory", 1, process="loop", rss_bytes=1000, kv_bytes_allocated=8 * 4096)
    log.add("front_received", 2, attempt, path="chat")
    log.add("queued", 3, attempt, prompt_tokens=32, waiting=1)
    log.add("scheduled", 10, attempt, running=1, waiting=0, recompute=False)
    log.add("kv_taken", 10, attempt, blocks=4, used=4, total=8)
    log.step(10, 20, part(attempt, 32, 1, 32, phase="prefill"), number=1)
    log.add("first_token", 30, attempt, index=0)
    log.add("front_written", 31, attempt, bytes=10, chunk=0, part="head")
    log.add("front_written", 32, attempt, bytes=10, chunk=1, part="body")
    for number, start in enumerate((40, 60, 95), start=2):
        decode = part(attempt, 1, 1, 31 + number, phase="decode")
        log.step(start, 20, decode, part("b", 1, 1, 50, phase="decode"), number=number)
        log.add("token", start + 20, attempt, index=number - 1)
    log.add("front_disconnected", 102, attempt, writes=2)
    log.add(
        "cancelled",
        115,
        attempt,
        tokens_out=4,
        phase="decode",
        reason="client disconnected",
        asked_ns=0,
    )
    log.add("kv_released", 116, attempt, blocks=4, used=0, total=8, level="blocks_reusable")
    return log
