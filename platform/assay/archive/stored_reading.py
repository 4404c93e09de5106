"""Read back what was derived from a bundle: one attempt, one ledger, or everything as one document.

One attempt costs one row group; sums and filters over all attempts read the columns they name.
"""

import json
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl
import pyarrow.parquet as pq

from assay.analysis.documents import (
    LEDGERS,
    AttemptReading,
    CancelCheck,
    GhostLoad,
    InterpretationDocument,
    Lane,
    LedgerRow,
    Ledgers,
    RunReading,
)
from assay.analysis.task_documents import TaskReading
from assay.archive.derived_schemas import (
    ATTEMPTS,
    CHECKS,
    GHOST,
    LEDGER_ROWS,
    READINGS,
    SUBJECT_IDS,
    TASKS,
)

INTERPRETATION = "interpretation.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAttempt:
    """One attempt as it was written, with the ids of those made before and after it."""

    reading: AttemptReading
    lanes: list[Lane]
    ghost: GhostLoad | None
    previous: str | None
    next: str | None


@dataclass(frozen=True, slots=True)
class StoredReading:
    """One derived folder. A table that is not there reads as one without rows."""

    folder: Path

    @property
    def present(self) -> bool:
        return (self.folder / INTERPRETATION).is_file()

    def run(self) -> RunReading:
        return cast(RunReading, json.loads((self.folder / INTERPRETATION).read_bytes()))

    def table(self, name: str) -> pl.LazyFrame | None:
        path = self.folder / name
        return pl.scan_parquet(path) if path.is_file() else None

    def attempt_ids(self) -> list[str]:
        """All attempts, in the order in which the client made them."""
        return self._column(ATTEMPTS, "attempt_id")

    def attempt(self, attempt_id: str) -> StoredAttempt | None:
        """None for an attempt that this reading does not hold."""
        names = self.attempt_ids()
        if attempt_id not in names:
            return None
        at = names.index(attempt_id)
        row = _row_at(self.folder / READINGS, at)
        return StoredAttempt(
            reading=attempt_reading(row),
            lanes=json.loads(row["lanes"]),
            ghost=json.loads(row["ghost"]) if row["ghost"] else None,
            previous=names[at - 1] if at else None,
            next=names[at + 1] if at + 1 < len(names) else None,
        )

    def ledger_rows(self, ledger: str, subject: str | None = None) -> list[LedgerRow]:
        """Rows of one ledger, or of one subject in it, in the order of its subjects and of time."""
        rows = self.table(LEDGER_ROWS)
        if rows is None:
            return []
        chosen = rows.filter(pl.col("ledger") == ledger)
        if subject is not None:
            chosen = chosen.filter(pl.col("subject") == subject)
        return [ledger_row(row) for row in chosen.collect().iter_rows(named=True)]

    def rows_of_subjects(self, subjects: Collection[str]) -> dict[str, list[LedgerRow]]:
        """Rows of these subjects in every ledger, in one pass over the table."""
        found: dict[str, list[LedgerRow]] = {name: [] for name in LEDGERS}
        rows = self.table(LEDGER_ROWS)
        if rows is not None and subjects:
            own = rows.filter(pl.col("subject").is_in(list(subjects))).collect()
            for row in own.iter_rows(named=True):
                found[row["ledger"]].append(ledger_row(row))
        return found

    def numbered(self, table: str, numbers: Sequence[int]) -> pl.DataFrame:
        """Rows of a table by their numbers, in the order given, from the row groups that hold them."""
        path = self.folder / table
        with pq.ParquetFile(path) as stored:
            sizes = [stored.metadata.row_group(g).num_rows for g in range(stored.num_row_groups)]
            firsts = [sum(sizes[:group]) for group in range(len(sizes))]
            groups = sorted({bisect_right(firsts, number) - 1 for number in numbers})
            if not groups:
                return cast(pl.DataFrame, pl.from_arrow(stored.schema_arrow.empty_table()))
            starts, at = {}, 0
            for group in groups:
                starts[group] = at
                at += sizes[group]
            held = stored.read_row_groups(groups)
        where = []
        for number in numbers:
            group = bisect_right(firsts, number) - 1
            where.append(starts[group] + number - firsts[group])
        return cast(pl.DataFrame, pl.from_arrow(held.take(where)))

    def checks(self, attempt_id: str | None = None) -> list[CancelCheck]:
        rows = self.table(CHECKS)
        if rows is None:
            return []
        if attempt_id is not None:
            rows = rows.filter(pl.col("attempt_id") == attempt_id)
        return cast(list[CancelCheck], rows.collect().to_dicts())

    def ghosts(self) -> list[GhostLoad]:
        """The ghost load of every attempt whose client gave up."""
        rows = self.table(ATTEMPTS)
        if rows is None:
            return []
        names = [name for name, _ in GHOST]
        columns = [pl.col(f"ghost_{name}").alias(name) for name in names]
        found = rows.filter(pl.col("ghost")).select("attempt_id", *columns).collect()
        return cast(list[GhostLoad], found.to_dicts())

    def released(self) -> dict[str, int]:
        """How many attempts have evidence of each release level."""
        rows = self.table(LEDGER_ROWS)
        if rows is None:
            return {}
        own = rows.filter((pl.col("ledger") == "resource") & (pl.col("state") == "released"))
        counts = own.group_by("detail").agg(pl.col("subject").n_unique()).collect()
        return dict(counts.iter_rows())

    def tasks(self) -> list[TaskReading]:
        return [json.loads(text) for text in self._column(TASKS, "reading")]

    def whole(self) -> InterpretationDocument:
        """Everything as one document, as ``assay interpret`` prints it. It holds every attempt."""
        rows = pq.read_table(self.folder / READINGS).to_pylist()
        return InterpretationDocument(
            **self.run(),
            attempts=[attempt_reading(row) for row in rows],
            tasks=self.tasks(),
            ledgers=cast(Ledgers, {name: self.ledger_rows(name) for name in LEDGERS}),
            lanes=[lane for row in rows for lane in json.loads(row["lanes"])],
            ghost_load=[json.loads(row["ghost"]) for row in rows if row["ghost"]],
            cancel_checks=self.checks(),
        )

    def _column(self, table: str, name: str) -> list[str]:
        rows = self.table(table)
        return [] if rows is None else rows.select(name).collect()[name].to_list()


def _row_at(path: Path, number: int) -> dict[str, Any]:
    """One row, by reading the row group that holds it."""
    with pq.ParquetFile(path) as table:
        first = 0
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            if number < first + rows:
                found: list[dict[str, Any]] = (
                    table.read_row_group(group).slice(number - first, 1).to_pylist()
                )
                return found[0]
            first += rows
    raise IndexError(number)


def attempt_reading(row: Mapping[str, Any]) -> AttemptReading:
    reading = json.loads(row["reading"])
    times: Sequence[int] = row["chunk_times_ns"]
    tokens: Sequence[int | None] = row["chunk_tokens"]
    return cast(AttemptReading, {**reading, "chunk_times_ns": times, "chunk_tokens": tokens})


def ledger_row(row: Mapping[str, Any]) -> LedgerRow:
    """Ids as an object again; a task is no try of anything, and has no ``retry_of``."""
    is_attempt = row["subject_type"] == "attempt"
    names = [name for name in SUBJECT_IDS if is_attempt or name != "retry_of"]
    rest = {k: v for k, v in row.items() if k not in SUBJECT_IDS and k != "ledger"}
    return cast(LedgerRow, {**rest, "ids": {name: row[name] for name in names}})
