"""Where in a column the numbers of each of many attempts lie, and how they are read together."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.shelf import Column

Places = NDArray[np.int64]
_MOST = 1 << 18  # numbers that are held at a time


@dataclass(frozen=True, slots=True)
class Stretches:
    """The place of the first number of each attempt, and how many there are."""

    starts: Places
    counts: Places

    def part(self, first: int, last: int) -> "Stretches":
        return Stretches(self.starts[first:last], self.counts[first:last])


class StretchColumns:
    """Stretches of all attempts that were taken, in their order."""

    __slots__ = ("_counts", "_starts")

    def __init__(self) -> None:
        self._starts = array("q")
        self._counts = array("q")

    def append(self, start: int, count: int) -> None:
        self._starts.append(start)
        self._counts.append(count)

    def extend(self, other: "StretchColumns", *, moved: int) -> None:
        """``moved``: how far the other's numbers are moved by standing after those that were here."""
        starts = np.frombuffer(other._starts, dtype=np.int64) + moved
        self._starts.frombytes(starts.tobytes())
        self._counts.extend(other._counts)

    def of(self, place: int) -> tuple[int, int]:
        """First place and end of one attempt's numbers."""
        start = self._starts[place]
        return start, start + self._counts[place]

    def at(self, places: Places) -> Stretches:
        starts: Places = np.frombuffer(self._starts, dtype=np.int64)
        counts: Places = np.frombuffer(self._counts, dtype=np.int64)
        return Stretches(starts[places], counts[places])

    def __len__(self) -> int:
        return len(self._counts)


def blocks(counts: Places, *, most: int = _MOST) -> Iterator[tuple[int, int]]:
    """From which to which attempt to read at a time, so that it is about ``most`` numbers."""
    total = int(counts.sum())
    marks = np.searchsorted(np.cumsum(counts), np.arange(most, total, most)) + 1
    within = np.unique(marks[marks < len(counts)])
    yield from pairwise([0, *within.tolist(), len(counts)])


def gathered(column: Column, where: Stretches) -> NDArray[Any]:
    """One attempt's numbers after the other's, read as one stretch where they lie together."""
    some = where.counts > 0
    starts, counts = where.starts[some], where.counts[some]
    total = int(counts.sum())
    if not total:
        return column.read(0, 0)
    low, high = int(starts.min()), int((starts + counts).max())
    if high - low > 4 * total + 4096:  # far apart: each by itself
        pieces = zip(starts.tolist(), (starts + counts).tolist(), strict=True)
        return np.concatenate([column.read(start, end) for start, end in pieces])
    lying = column.read(low, high)
    # The k-th number of an attempt lies k after that attempt's first one.
    firsts = np.repeat(starts - low - (np.cumsum(counts) - counts), counts)
    found: NDArray[Any] = lying[firsts + np.arange(total)]
    return found
