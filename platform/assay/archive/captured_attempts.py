"""Read the attempts of one batch from the client's record and the wire, each to its final state."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.analysis.absence import Absent
from assay.analysis.retokenized import retokenize
from assay.analysis.wire.attempt import Attempt, AttemptIds
from assay.analysis.wire.attempt_reader import AttemptReader
from assay.analysis.wire.unscheduled import Unscheduled
from assay.archive.attempt_batches import ATTEMPT, Batch
from assay.archive.declared_reading import DeclaredReading
from assay.archive.readers import ClientClock
from assay.archive.tokenizer import counter_at
from runners.protocol import layout
from runners.protocol.events import WireKind

_ENDS = frozenset({WireKind.closed, WireKind.timeout, WireKind.cancel, WireKind.error})
_COLUMNS = [ATTEMPT, "t_ns", "data"]
_HELD_GROUPS = 4  # of about 4 MiB each
_WITHHELD = "the wire bytes are withheld from this copy: the outcome cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What holds for all attempts of a bundle: the clocks that stamped them, whether bytes are missing."""

    clock: ClientClock
    load_worker_clocks: Mapping[int, ClientClock]
    wire_withheld: bool
    declared: DeclaredReading
    tokenizer: Path | Absent

    def clock_of(self, worker: int | None) -> ClientClock:
        return self.load_worker_clocks.get(worker or 0, self.clock)


class WireFiles:
    """Row groups of wire files. Neighbouring batches share some, so the last few are held."""

    def __init__(self) -> None:
        self._groups: OrderedDict[tuple[Path, int], pa.Table] = OrderedDict()

    def rows(self, file: Path, group: int) -> pa.Table:
        """The reads of one row group, without what else a row says."""
        key = (file, group)
        if key not in self._groups:
            with pq.ParquetFile(file, read_dictionary=[ATTEMPT]) as table:
                found = table.read_row_group(group, columns=_COLUMNS, use_threads=False)
            self._groups[key] = found
            while len(self._groups) > _HELD_GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(key)
        return self._groups[key]


def captured_attempts(batch: Batch, capture: Capture, files: WireFiles) -> Iterator[Attempt]:
    """The batch's attempts in its order."""
    readers = [_Row(row, capture).reader() for row in batch.rows()]
    for place, times, pieces in _reads(batch, capture, files):
        readers[place].read_responses(times, pieces)
    attempts = [_finished(reader, withheld=capture.wire_withheld) for reader in readers]
    retokenize(attempts, counter_at(capture.tokenizer))
    yield from attempts


def _reads(
    batch: Batch, capture: Capture, files: WireFiles
) -> Iterator[tuple[int, list[int], list[bytes]]]:
    """(place in the batch, times, bytes) of consecutive reads of one attempt, each attempt's in order."""
    names = batch.attempts["attempt_id"].combine_chunks()
    for wire in batch.wire:
        origin_ns = capture.clock_of(worker_of(wire.file)).origin_ns
        for group in wire.groups:
            yield from _runs(files.rows(wire.file, group), names, origin_ns)


def worker_of(file: Path) -> int:
    """``wire/<worker>-<number>.parquet``: the process whose reads it holds."""
    return int(file.stem.partition("-")[0])


def _runs(
    rows: pa.Table, names: pa.Array, origin_ns: int
) -> Iterator[tuple[int, list[int], list[bytes]]]:
    places = _places(rows[ATTEMPT], names)
    own = np.flatnonzero(places >= 0)
    if not len(own):
        return
    at = places[own]
    if np.any(at[1:] < at[:-1]):  # not sorted by attempt: bring each attempt's reads together
        order = np.argsort(at, kind="stable")
        own, at = own[order], at[order]
    lie_together = own[-1] - own[0] + 1 == len(own) and bool(np.all(own[1:] > own[:-1]))
    chosen = rows.slice(int(own[0]), len(own)) if lie_together else rows.take(pa.array(own))
    times = (chosen["t_ns"].to_numpy() - origin_ns).tolist()
    data = _pieces(chosen["data"])
    starts = [0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(at)]
    for start, end in pairwise(starts):
        yield int(at[start]), times[start:end], data[start:end]


def _places(attempts: pa.ChunkedArray, names: pa.Array) -> NDArray[np.int64]:
    """Of each row the place of its attempt among these names; -1 for another attempt's."""
    found = []
    for chunk in attempts.chunks:
        known = pc.fill_null(pc.index_in(chunk.dictionary.cast(names.type), value_set=names), -1)
        of_name = np.append(known.to_numpy(), -1).astype(
            np.int64
        )  # the last one: of no name at all
        found.append(of_name[pc.fill_null(chunk.indices, -1).to_numpy()])
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _pieces(column: pa.ChunkedArray) -> list[bytes]:
    """The values of a binary column; a value at a time through Arrow would take ten times as long."""
    found: list[bytes] = []
    for chunk in column.chunks:
        if chunk.null_count:
            found += chunk.to_pylist()
            continue
        _, offsets, values = chunk.buffers()
        marks = np.frombuffer(offsets, dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = memoryview(values)[int(marks[0]) : int(marks[-1])].tobytes() if values else b""
        ends = (marks - marks[0]).tolist()
        found += [data[start:end] for start, end in pairwise(ends)]
    return found


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of the attempts' table, as marks for a reader."""

    row: Mapping[str, Any]
    capture: Capture

    @property
    def clock(self) -> ClientClock:
        return self.capture.clock_of(self.row["worker"])

    def reader(self) -> AttemptReader:
        row = self.row
        reader = AttemptReader(
            AttemptIds(
                attempt_id=row["attempt_id"],
                request_id=row["request_id"],
                task_id=row["task_id"],
                session_id=row["session_id"],
                model_call_id=row["model_call_id"],
                retry_of=row["retry_of"],
            ),
            self.clock.domain,
            self.capture.declared.of(row["request_id"]),
        )
        evidence = f"{layout.ATTEMPTS}:{row['row']}"
        attempt = reader.attempt
        attempt.clock_error_ns = self.clock.error_ns
        attempt.phase, attempt.segment, attempt.case = row["phase"], row["segment"], row["case"]
        attempt.unscheduled = Unscheduled(row["unscheduled"])
        attempt.output_cap = row["output_cap"]
        attempt.connection_reused = row["connection_reused"]
        attempt.connect_start_ns = self._since_origin("connect_start_ns")
        attempt.connected_ns = self._since_origin("connected_ns")
        attempt.evidence["row"] = evidence
        for kind in (WireKind.scheduled, WireKind.created, WireKind.sent):
            t_ns = self._since_origin(f"{kind.value}_ns")
            if t_ns is not None:
                reader.mark(kind, t_ns, evidence=evidence)
        ended = self._since_origin("ended_ns")
        if row["end"] in _ENDS and ended is not None:
            reader.mark(
                WireKind(row["end"]),
                ended,
                status=row["status"],
                detail=row["detail"],
                evidence=evidence,
            )
        return reader

    def _since_origin(self, name: str) -> int | None:
        t_ns: int | None = self.row[name]
        return None if t_ns is None else t_ns - self.clock.origin_ns


def _finished(reader: AttemptReader, *, withheld: bool) -> Attempt:
    """With the wire withheld, a body that ended cannot be judged: the attempt stays open, and says why."""
    if withheld and reader.attempt.first_byte_ns is None and reader.closed_ns is not None:
        reader.closed_ns = None
        attempt = reader.finish()
        attempt.failure = _WITHHELD
        return attempt
    return reader.finish()
