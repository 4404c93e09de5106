"""Drive the product's own client at an address, and read what it captured with the product's own analysis."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.analysis.documents import InterpretationDocument
from assay.analysis.recorded import RecordedStream, interpret_recorded
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt
from runners.load.driver import drive
from runners.load.recorder import Recorder
from runners.protocol.segment_writer import SegmentWriter
from tests.runners.load.drives import PROMPTS, load_of, plan_row, read_back, run

CLOCK = "one host"
_IDS = ("request_id", "task_id", "session_id", "model_call_id", "retry_of")
_KNOWN = ("event", "t_ns", "request")
Events = Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """Rows of attempts, raw reads of each, and the readings made of them."""

    rows: dict[str, dict[str, Any]]
    reads: dict[str, list[tuple[int, bytes]]]
    attempts: dict[str, Attempt]

    @property
    def only(self) -> Attempt:
        (attempt,) = self.attempts.values()
        return attempt

    def head(self, attempt_id: str) -> str:
        data = b"".join(data for _, data in self.reads[attempt_id])
        return data.partition(b"\r\n\r\n")[0].decode("latin-1")

    def record(self, events: Events) -> ServerRecord:
        """The server's own events of the one attempt, read as any recorded events are."""
        record = _stream(self.rows, self.reads, events).records.get(self.only.attempt_id)
        assert record is not None
        return record

    def interpretation(self, events: Events) -> InterpretationDocument:
        return interpret_recorded(_stream(self.rows, self.reads, events))


def capture(
    base_url: str,
    folder: Path,
    *,
    rows: Sequence[Mapping[str, Any]] | None = None,
    model: str = "m",
    prompts: Mapping[str, Mapping[str, Any]] = PROMPTS,
    **load: Any,
) -> Capture:
    """One drive at ``base_url``; ``load`` changes the load group (``timeouts``, ``retry``)."""
    writer = SegmentWriter(folder / "segments", limit_bytes=2**26)
    recorder = Recorder(writer)
    writer.start()
    try:
        run(
            drive(
                [plan_row()] if rows is None else rows,
                prompts,
                base_url=base_url,
                model=model,
                load=load_of(**load),
                recorder=recorder,
            )
        )
    finally:
        writer.close()
    attempts, reads = read_back(folder)
    read = _stream(attempts, reads, ()).attempts
    return Capture(rows=attempts, reads=reads, attempts={a.attempt_id: a for a in read})


def _stream(
    rows: Mapping[str, Mapping[str, Any]],
    reads: Mapping[str, Iterable[tuple[int, bytes]]],
    events: Events,
) -> RecordedStream:
    wire = (json.dumps(line) for row in rows.values() for line in _wire(row, reads))
    in_order = sorted(events, key=lambda row: int(row["t_ns"]))
    told = (json.dumps(_event(row)) for row in in_order)
    return RecordedStream(wire, told, wire_file="wire", events_file="events")


def _wire(
    row: Mapping[str, Any], reads: Mapping[str, Iterable[tuple[int, bytes]]]
) -> Iterator[dict[str, Any]]:
    """The interchange form of one attempt."""
    attempt = row["attempt_id"]
    common = {"attempt_id": attempt, "clock_domain": CLOCK}
    ids = {name: row[name] for name in _IDS if row[name] is not None}
    for kind in ("created", "sent"):
        if (t_ns := row[f"{kind}_ns"]) is not None:
            yield {**common, **ids, "kind": kind, "t_ns": t_ns}
    for t_ns, data in reads.get(attempt, ()):
        text = data.decode("ascii")
        yield {**common, "kind": "read", "t_ns": t_ns, "text": text, "raw_http": True}
    if row["end"] is not None:
        end = {"kind": row["end"], "t_ns": row["ended_ns"], "detail": row["detail"]}
        yield {**common, **end, "status": row["status"]}


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    """An engine's row as an event of the interchange form, on the client's own clock."""
    return {
        "event": row["event"],
        "t_ns": row["t_ns"],
        "attempt_id": row.get("request"),
        "clock_domain": CLOCK,
        "error_ns": 0,
        "perspective": "server",
        "value": {k: v for k, v in row.items() if k not in _KNOWN},
    }
