"""A sealed bundle's tables and documents as inputs of the analysis, read in bounded memory.

Times leave here as ns from the run's origin (of their own clock domain), so that every published number stays
below 2**53. Wire rows are read batch by batch and handed to the open attempts; they are never held together.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assay.analysis.engine_events import EngineEventReader
from assay.analysis.events import EventRecord
from assay.analysis.wire.attempt import Attempt, AttemptIds, AttemptReader
from runners.protocol import layout, manifest
from runners.protocol.events import Phase, Segment, WireKind

_WIRE_BATCH_ROWS = 16_384
_ENDS = frozenset({WireKind.closed, WireKind.timeout, WireKind.cancel, WireKind.error})
UNSPECIFIED = "unspecified"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One row of ``session.jsonl`` and where it stands."""

    event: str
    t_ns: int
    fields: dict[str, Any]
    evidence: str


class Bundle:
    """Reads one bundle folder. A bundle that was cut short lacks files; each reader then yields nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events_reader = EngineEventReader(
            file=layout.ENGINE_EVENTS,
            client_domain=self.client_domain,
            origin_ns=self.origin_ns,
        )

    @cached_property
    def digest(self) -> str:
        return (self.folder / layout.MANIFEST_DIGEST).read_text(encoding="ascii").strip()

    @cached_property
    def header(self) -> dict[str, Any]:
        return manifest.read(self.folder)

    @cached_property
    def clocks(self) -> dict[str, Any]:
        return self.document(layout.CLOCKS) or {}

    @property
    def client_domain(self) -> str:
        return str(self.clocks.get("client_domain") or UNSPECIFIED)

    @property
    def origin_ns(self) -> int:
        return int(self.clocks.get("origin_ns") or 0)

    def document(self, name: str) -> dict[str, Any] | None:
        """A JSON object of the bundle, or None if the file is not there."""
        path = self.folder / name
        if not path.is_file():
            return None
        found = json.loads(path.read_bytes())
        return found if isinstance(found, dict) else None

    def missing(self, name: str) -> bool:
        """Whether a file of the manifest is withheld from this copy."""
        listed = any(entry["path"] == name for entry in self.header["files"])
        return listed and not (self.folder / name).exists()

    @property
    def withheld(self) -> list[str]:
        return [e["path"] for e in self.header["files"] if self.missing(e["path"])]

    def session(self) -> list[SessionRow]:
        """Rows of the runner's own log; a torn last line is left out."""
        rows = []
        for number, row in self._json_lines(layout.SESSION):
            rows.append(
                SessionRow(
                    event=str(row.get("event")),
                    t_ns=int(row.get("t_ns", self.origin_ns)) - self.origin_ns,
                    fields=row,
                    evidence=f"{layout.SESSION}:{number}",
                )
            )
        return rows

    def offered(self) -> tuple[int | None, int | None]:
        """Planned requests of the measured phase, and of its load segment; None without a plan."""
        path = self.folder / layout.PLAN
        if not path.is_file():
            return None, None
        table = pq.read_table(path, columns=["phase", "segment"])
        rows = list(zip(table["phase"].to_pylist(), table["segment"].to_pylist(), strict=True))
        measured = [segment for phase, segment in rows if phase == Phase.measure]
        return len(measured), measured.count(Segment.load)

    def attempts(self) -> list[Attempt]:
        """All attempts of all phases, read to their final state."""
        readers = self._readers()
        for attempt_id, t_ns, data in self._reads():
            reader = readers.get(attempt_id)
            if reader is not None:
                reader.read(t_ns - self.origin_ns, data, raw_http=True)
        withheld = {name for name in self.withheld if name.startswith(layout.WIRE_FOLDER)}
        return [_finished(reader, withheld=bool(withheld)) for reader in readers.values()]

    def events(self) -> Iterator[EventRecord]:
        """The engine's own events, normalised and counted from the run's origin."""
        path = self.folder / layout.ENGINE_EVENTS
        if not path.is_file():
            return
        with path.open("rb") as stream:
            yield from self.events_reader.records(stream)

    def _readers(self) -> dict[str, AttemptReader]:
        path = self.folder / layout.ATTEMPTS
        if not path.is_file():
            return {}
        readers: dict[str, AttemptReader] = {}
        row_number = 0
        for batch in pq.ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                row_number += 1
                readers[row["attempt_id"]] = self._reader(row, row_number)
        return readers

    def _reader(self, row: Mapping[str, Any], number: int) -> AttemptReader:
        reader = AttemptReader(
            AttemptIds(
                attempt_id=row["attempt_id"],
                request_id=row["request_id"],
                task_id=row["task_id"],
                session_id=row["session_id"],
                model_call_id=row["model_call_id"],
                retry_of=row["retry_of"],
            ),
            self.client_domain,
        )
        evidence = f"{layout.ATTEMPTS}:{number}"
        attempt = reader.attempt
        attempt.phase, attempt.segment, attempt.case = row["phase"], row["segment"], row["case"]
        attempt.output_cap = row["output_cap"]
        attempt.connection_reused = row["connection_reused"]
        attempt.connect_start_ns = self._since_origin(row["connect_start_ns"])
        attempt.connected_ns = self._since_origin(row["connected_ns"])
        attempt.evidence["row"] = evidence
        for kind in (WireKind.scheduled, WireKind.created, WireKind.sent):
            t_ns = self._since_origin(row[f"{kind.value}_ns"])
            if t_ns is not None:
                reader.mark(kind, t_ns, evidence=evidence)
        ended = self._since_origin(row["ended_ns"])
        if row["end"] in _ENDS and ended is not None:
            reader.mark(
                WireKind(row["end"]),
                ended,
                status=row["status"],
                detail=row["detail"],
                evidence=evidence,
            )
        return reader

    def _since_origin(self, t_ns: int | None) -> int | None:
        return None if t_ns is None else t_ns - self.origin_ns

    def _reads(self) -> Iterator[tuple[str, int, bytes]]:
        folder = self.folder / layout.WIRE_FOLDER
        for path in sorted(folder.glob("*.parquet")) if folder.is_dir() else ():
            for batch in pq.ParquetFile(path).iter_batches(batch_size=_WIRE_BATCH_ROWS):
                yield from zip(
                    batch.column("attempt_id").to_pylist(),
                    batch.column("t_ns").to_pylist(),
                    batch.column("data").to_pylist(),
                    strict=True,
                )

    def _json_lines(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        path = self.folder / name
        if not path.is_file():
            return
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                if isinstance(row, dict):
                    yield number, row


def _finished(reader: AttemptReader, *, withheld: bool) -> Attempt:
    """With the wire withheld, a body that ended cannot be judged: the attempt stays open, and says why."""
    if withheld and reader.attempt.first_byte_ns is None and reader.closed_ns is not None:
        reader.closed_ns = None
        attempt = reader.finish()
        attempt.failure = "the wire bytes are withheld from this copy: the outcome cannot be read"
        return attempt
    return reader.finish()
