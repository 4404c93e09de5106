"""Any rank of samples that are too many to hold: sorted runs on a shelf, and a search over all of them.

A rank is found by halving the range of all numbers a float can be: how many samples lie at or below a number
is known from each run after one short read. With a single run the rank is a place in it.
"""

from bisect import bisect_right
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from assay.analysis.shelf import HeldShelf, Shelf

Floats = NDArray[np.float64]
_STEP = 1024  # every so manyth number of a run is held
_SIGN = 1 << 63
_ALL = (1 << 64) - 1


class Ordered:
    """Finite samples in ascending order, though never together: read by place, from 0."""

    def __init__(self, blocks: Iterable[Floats], shelf: Shelf | None = None) -> None:
        self._column = (shelf or HeldShelf()).column("d")
        self._starts: list[int] = []
        self._marks: list[list[float]] = []
        for block in blocks:
            if len(block):
                run = np.sort(block)
                self._starts.append(len(self._column))
                self._marks.append(run[::_STEP].tolist())
                self._column.extend(run)
        self._ends = [*self._starts[1:], len(self._column)]

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, at: int) -> float:
        at = range(len(self))[at]
        if len(self._starts) == 1:
            return float(self._column.read(at, at + 1)[0])
        low = _key(min(marks[0] for marks in self._marks))
        high = _key(max(float(self._column.read(end - 1, end)[0]) for end in self._ends))
        while low < high:
            middle = (low + high) // 2
            if self._up_to(_number(middle)) > at:
                high = middle
            else:
                low = middle + 1
        return _number(low) + 0.0  # both zeros are one number: the plain one is told

    def _up_to(self, value: float) -> int:
        """How many samples lie at or below ``value``."""
        runs = zip(self._starts, self._ends, self._marks, strict=True)
        return sum(self._up_to_in_run(*run, value) for run in runs)

    def _up_to_in_run(self, start: int, end: int, marks: list[float], value: float) -> int:
        # The last mark at or below the value; what follows it may be, too, up to the next mark.
        mark = bisect_right(marks, value) - 1
        if mark < 0:
            return 0
        first = mark * _STEP
        stretch = self._column.read(start + first, min(start + first + _STEP, end))
        return first + int(np.searchsorted(stretch, value, side="right"))


def _key(value: float) -> int:
    """A whole number of 64 bits in the order of the floats."""
    bits = int(np.float64(value).view(np.uint64))
    return bits ^ _ALL if bits & _SIGN else bits | _SIGN


def _number(key: int) -> float:
    bits = key ^ _SIGN if key & _SIGN else key ^ _ALL
    return float(np.uint64(bits).view(np.float64))
