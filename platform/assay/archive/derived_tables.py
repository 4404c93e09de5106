"""Write the tables beside an interpretation as batches come in, in bounded memory."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import accumulate, islice
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.analysis.documents import LedgerRow
from assay.analysis.events import EventRecord
from assay.analysis.iterations import IterationLog
from assay.analysis.observed import ObservedStep
from assay.analysis.task_documents import TaskReading
from assay.archive.derived_rows import task_batch
from assay.archive.derived_schemas import (
    ATTEMPTS,
    ATTEMPTS_BEFORE_TASKS,
    ATTEMPTS_SCHEMA,
    BY_ATTEMPT,
    END,
    EVENTS_SCHEMA,
    ITERATIONS_SCHEMA,
    LEDGER_ROWS,
    TASK_END_SCHEMA,
    TASKS_SCHEMA,
)

_EVENT_ROWS = 50_000
_TASKS_AT_ONCE = 4096
_TASK_END = ["subject", *(name for name, _ in END)]
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


class GroupedWriter:
    """One Parquet file whose row groups have a size of their own, whatever the size of the batches."""

    def __init__(self, path: Path, schema: pa.Schema, group_rows: int) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._schema, self._group_rows = schema, group_rows
        self._held: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._rows += batch.num_rows
        if self._rows >= self._group_rows:
            whole = self._rows - self._rows % self._group_rows
            table = self._taken()
            self._writer.write_table(table.slice(0, whole), row_group_size=self._group_rows)
            self._held = table.slice(whole).combine_chunks().to_batches()
            self._rows = table.num_rows - whole

    def close(self) -> None:
        if self._rows:
            self._writer.write_table(self._taken(), row_group_size=self._group_rows)
        self._writer.close()

    def _taken(self) -> pa.Table:
        table = pa.Table.from_batches(self._held, schema=self._schema)
        self._held = []
        return table


class AttemptTables:
    """The tables of which each attempt has its rows: ``write`` batches in order, then ``finish`` once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers = {
            name: GroupedWriter(folder / name, schema, group_rows)
            for name, (schema, group_rows) in BY_ATTEMPT.items()
            if name != ATTEMPTS
        }
        # Put aside as it is, until each attempt's task is known.
        self._partial = folder / f"{ATTEMPTS}.part"
        self._aside = pa.ipc.new_file(self._partial, ATTEMPTS_BEFORE_TASKS)
        self._task_ids = [pa.array([], pa.string())]

    def __enter__(self) -> "AttemptTables":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for writer in self._writers.values():
            writer.close()
        self._aside.close()
        self._writers = {}

    def write(self, batches: Mapping[str, pa.RecordBatch]) -> None:
        for name, batch in batches.items():
            if name != ATTEMPTS:
                self._writers[name].write(batch)
        attempts = batches[ATTEMPTS]
        self._aside.write_batch(attempts)
        # Copied: a column of a batch from another process holds on to the whole message it came in.
        self._task_ids.append(pa.array(attempts.column("task_id").to_pylist(), pa.string()))

    def finish(self, tasks: Iterable[Sequence[LedgerRow]]) -> None:
        """Add the task ledger, and each attempt's task to its row."""
        ends = self._write_tasks(tasks)
        self.__exit__(None, None, None)
        own = pc.index_in(pa.concat_arrays(self._task_ids), value_set=ends["subject"])
        ends, done = ends.drop_columns(["subject"]), 0
        _, group_rows = BY_ATTEMPT[ATTEMPTS]
        writer = GroupedWriter(self._folder / ATTEMPTS, ATTEMPTS_SCHEMA, group_rows)
        for batch in _set_aside(self._partial, group_rows):
            writer.write(_with_tasks(batch, ends.take(own.slice(done, batch.num_rows))))
            done += batch.num_rows
        writer.close()
        self._partial.unlink()

    def _write_tasks(self, tasks: Iterable[Sequence[LedgerRow]]) -> pa.Table:
        """Write rows of the task ledger, some tasks at a time; how each ended comes back."""
        remaining = iter(tasks)
        ends = [task_batch(()).select(_TASK_END)]
        while own := list(islice(remaining, _TASKS_AT_ONCE)):
            rows = task_batch(own)
            self._writers[LEDGER_ROWS].write(rows)
            last = list(accumulate(map(len, own), initial=-1))[1:]
            ends.append(rows.select(_TASK_END).take(pa.array(last)))
        return pa.Table.from_batches(ends).combine_chunks()


def _set_aside(path: Path, rows: int) -> Iterator[pa.RecordBatch]:
    """What was put aside, so many rows at a time."""
    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as held:
        waiting = held.schema.empty_table()
        for number in range(held.num_record_batches):
            waiting = pa.concat_tables([waiting, pa.Table.from_batches([held.get_batch(number)])])
            is_last = number + 1 == held.num_record_batches
            while waiting.num_rows >= rows or (is_last and waiting.num_rows):
                yield waiting.slice(0, rows).combine_chunks().to_batches()[0]
                waiting = waiting.slice(rows)


def _with_tasks(batch: pa.RecordBatch, ends: pa.Table) -> pa.RecordBatch:
    """``ends``: of each row's task, or null."""
    columns = [column.combine_chunks() for column in ends.combine_chunks().columns]
    assert len(columns) == len(TASK_END_SCHEMA)
    return pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=ATTEMPTS_SCHEMA)


def write_iterations(path: Path, log: IterationLog) -> None:
    """One row an iteration of the engine; what a record that names no request does not say is null."""
    steps = [*log.steps, *(step for step, _ in log.counted)]
    columns: dict[str, list[Any]] = {
        f.name: [getattr(step, f.name, None) for step in steps] for f in fields(ObservedStep)
    }
    columns["phase"] = [phase.value for phase in columns["phase"]]
    columns["evidence"] = [*log.evidence, *(evidence for _, evidence in log.counted)]
    pq.write_table(
        pa.Table.from_pydict(columns, schema=ITERATIONS_SCHEMA), path, compression="zstd"
    )


def write_tasks(path: Path, readings: Sequence[TaskReading]) -> None:
    """One row a task of the plan."""
    columns = {
        "task_id": [reading["task_id"] for reading in readings],
        "reading": [_encode(reading) for reading in readings],
    }
    pq.write_table(pa.Table.from_pydict(columns, schema=TASKS_SCHEMA), path, compression="zstd")


def events_through(path: Path, events: Iterable[EventRecord]) -> Iterator[EventRecord]:
    """Pass events on and write each to ``path`` as it passes, in batches."""
    with pq.ParquetWriter(path, EVENTS_SCHEMA, compression="zstd") as writer:
        rows: list[tuple[Any, ...]] = []
        for event in events:
            rows.append(_event_row(event))
            if len(rows) == _EVENT_ROWS:
                _write_batch(writer, rows)
                rows = []
            yield event
        _write_batch(writer, rows)


def _write_batch(writer: pq.ParquetWriter, rows: list[tuple[Any, ...]]) -> None:
    columns = zip(*rows, strict=True) if rows else ([] for _ in EVENTS_SCHEMA.names)
    arrays = [
        pa.array(column, type=field.type)
        for column, field in zip(columns, EVENTS_SCHEMA, strict=True)
    ]
    writer.write_table(pa.Table.from_arrays(arrays, schema=EVENTS_SCHEMA))


def _event_row(event: EventRecord) -> tuple[Any, ...]:
    """In the order of ``EVENTS_SCHEMA``."""
    fact = event.fact
    return (
        event.event,
        fact.value if fact is not None else None,
        event.t_ns,
        event.clock_domain,
        event.error_ns,
        event.layer,
        event.perspective,
        event.attempt_id,
        _encode(event.value) if event.value else None,
        event.evidence,
    )
