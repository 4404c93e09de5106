"""Some rows of a large table of a reading: those of a page are read, and no others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from assay.analysis.documents import AttemptReading, LedgerRow
from assay.archive.derived_schemas import LEDGER_ROWS, READINGS
from assay.archive.stored_reading import StoredReading, attempt_reading, ledger_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Which rows of how many."""

    rows: list[Any]
    total: int


def attempts(reading: StoredReading, *, first: int, count: int) -> Rows:
    """Attempts whole, in the order in which the client made them."""
    path = reading.folder / READINGS
    if not path.is_file():
        return Rows(rows=[], total=0)
    with pq.ParquetFile(path) as table:
        wanted = list(_between(table, first, first + count))
        return Rows(rows=wanted, total=table.metadata.num_rows)


def ledger(
    reading: StoredReading, name: str, *, first: int, count: int, subject: str | None = None
) -> Rows:
    """Rows of one ledger, or of one subject in it, in the order of its subjects and of time."""
    table = reading.table(LEDGER_ROWS)
    if table is None:
        return Rows(rows=[], total=0)
    chosen = table.filter(pl.col("ledger") == name)
    if subject is not None:
        chosen = chosen.filter(pl.col("subject") == subject)
    total = int(chosen.select(pl.len()).collect().item())
    page = chosen.slice(first, count).collect()
    rows: list[LedgerRow] = [ledger_row(row) for row in page.iter_rows(named=True)]
    return Rows(rows=rows, total=total)


def _between(table: pq.ParquetFile, first: int, end: int) -> Iterator[AttemptReading]:
    """Rows from ``first`` on, before ``end``, by the row groups that hold them."""
    at = 0
    for group in range(table.num_row_groups):
        rows = table.metadata.row_group(group).num_rows
        low, high = max(first - at, 0), min(end - at, rows)
        if low < high:
            for row in table.read_row_group(group).slice(low, high - low).to_pylist():
                yield attempt_reading(row)
        at += rows
        if at >= end:
            return
