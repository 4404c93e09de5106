"""Which attempts of a bundle are read together, and where in its wire files their reads lie.

A batch holds few attempts, so that memory does not grow with the run, and is cut by the bundle alone, so that
any number of workers reads the same batches. A sealed wire file is sorted by attempt in stretches: a batch
needs few of its row groups. One that is not so is read as well, in more time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

MOST_ATTEMPTS = 256
MOST_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class WireGroups:
    """Row groups of one wire file, in order."""

    file: Path
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows of the attempts' table that are read together, and the row groups that hold their reads."""

    rows: tuple[dict[str, Any], ...]
    wire: tuple[WireGroups, ...]

    @property
    def attempt_ids(self) -> list[str]:
        return [row["attempt_id"] for row in self.rows]


def batches(rows: Sequence[dict[str, Any]], wire: Sequence[Path]) -> Iterator[Batch]:
    """The rows in order, at most so many attempts and received bytes at a time."""
    cuts = list(_cut(rows))
    number_of = {row["attempt_id"]: n for n, own in enumerate(cuts) for row in own}
    groups: list[dict[Path, list[int]]] = [{} for _ in cuts]
    for file in wire:
        with pq.ParquetFile(file) as table:
            for group in range(table.num_row_groups):
                column = table.read_row_group(group, columns=["attempt_id"])["attempt_id"]
                names = pc.unique(column).to_pylist()
                for number in {number_of[name] for name in names if name in number_of}:
                    groups[number].setdefault(file, []).append(group)
    for own, places in zip(cuts, groups, strict=True):
        yield Batch(
            rows=tuple(own),
            wire=tuple(WireGroups(file=f, groups=tuple(g)) for f, g in places.items()),
        )


def _cut(rows: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    own: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        size += row["bytes_received"] or 0
        if own and (len(own) == MOST_ATTEMPTS or size > MOST_BYTES):
            yield own
            own, size = [], row["bytes_received"] or 0
        own.append(row)
    if own:
        yield own
