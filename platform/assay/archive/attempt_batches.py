"""Which attempts of a bundle are read together, and where in its wire files their reads lie.

A batch holds few attempts, so that memory does not grow with the run, and is cut by the bundle alone, so that
any number of workers reads the same batches. A sealed wire file is sorted by attempt in stretches: a batch
needs few of its row groups. One that is not so is read as well, in more time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.archive.measured import MeasuredAttempts

ATTEMPT = "attempt_id"  # of a read; a file holds each once for all of its reads, and it is read so
MOST_ATTEMPTS = 256
# A batch of long answers takes no more memory than one of answers of a hundred events.
MOST_BYTES = 6 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class WireGroups:
    """Row groups of one wire file, in order."""

    file: Path
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows of the attempts' table that are read together, and the row groups that hold their reads."""

    attempts: pa.Table
    wire: tuple[WireGroups, ...]

    @property
    def attempt_ids(self) -> list[str]:
        return self._column("attempt_id")

    @property
    def request_ids(self) -> list[str | None]:
        return self._column("request_id")

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.attempts.to_pylist()
        return found

    def _column(self, name: str) -> list[Any]:
        found: list[Any] = self.attempts[name].to_pylist()
        return found


def batches(measured: MeasuredAttempts, wire: Sequence[Path]) -> Iterator[Batch]:
    """The rows in order, at most so many attempts and received bytes at a time."""
    cuts = cut(measured.sizes)
    groups: list[dict[Path, list[int]]] = [{} for _ in cuts]
    for file in wire:
        for group, numbers in _batches_of_groups(file, measured.ids, cuts):
            for number in numbers:
                groups[number].setdefault(file, []).append(group)
    for (start, stop), places in zip(cuts, groups, strict=True):
        yield Batch(
            attempts=measured.rows(start, stop),
            wire=tuple(WireGroups(file=f, groups=tuple(g)) for f, g in places.items()),
        )


def cut(sizes: NDArray[np.int64]) -> list[tuple[int, int]]:
    """From which to which row to read together. ``sizes``: the bytes that each attempt received."""
    cuts, start, held = [], 0, 0
    for place, size in enumerate(sizes.tolist()):
        held += size
        if place > start and (place - start == MOST_ATTEMPTS or held > MOST_BYTES):
            cuts.append((start, place))
            start, held = place, size
    return [*cuts, (start, len(sizes))] if len(sizes) else []


def _batches_of_groups(
    file: Path, ids: pa.Array, cuts: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, list[int]]]:
    """Each row group of a wire file, and the numbers of the batches that have reads in it."""
    with pq.ParquetFile(file, read_dictionary=[ATTEMPT]) as table:
        groups = [
            table.read_row_group(group, columns=[ATTEMPT], use_threads=False)[ATTEMPT]
            for group in range(table.num_row_groups)
        ]
    kinds = [[chunk.dictionary.cast(ids.type) for chunk in group.chunks] for group in groups]
    names = [pa.chunked_array(own, ids.type).combine_chunks() for own in kinds]
    if not names:
        return
    found = pc.index_in(pa.concat_arrays(names), value_set=ids)
    places = pc.fill_null(found, -1).to_numpy()
    starts = np.array([start for start, _ in cuts])
    ends = np.cumsum([0, *(len(own) for own in names)])
    for group, (first, last) in enumerate(pairwise(ends.tolist())):
        own = places[first:last]
        batch = np.searchsorted(starts, own[own >= 0], side="right") - 1
        yield group, np.unique(batch).tolist()
