"""Columns of numbers that a reading sets aside: appended in order, read back a stretch at a time.

Whoever reads a run of any length gives it a shelf of files; a small one is held in memory.
"""

from array import array
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["d", "q"]  # float64 or int64, as numpy and ``array`` name them
Numbers = NDArray[Any]


class Column(Protocol):
    """Eight bytes a number."""

    def __len__(self) -> int: ...

    def extend(self, values: "Numbers | array[Any]") -> None:
        """Append numbers of the column's own kind."""
        ...

    def read(self, start: int, stop: int) -> Numbers:
        """A stretch, as an array of its own."""
        ...


class Shelf(Protocol):
    """Where columns are put."""

    def column(self, kind: Kind) -> Column:
        """A new and empty one."""
        ...


class HeldColumn:
    """A column in memory."""

    __slots__ = ("_kind", "_numbers")

    def __init__(self, kind: Kind) -> None:
        self._kind: Kind = kind
        self._numbers: array[Any] = array(kind)

    def __len__(self) -> int:
        return len(self._numbers)

    def extend(self, values: "Numbers | array[Any]") -> None:
        self._numbers.frombytes(values.tobytes())

    def read(self, start: int, stop: int) -> Numbers:
        return np.array(self._numbers[start:stop], dtype=self._kind)


class HeldShelf:
    """All columns in memory."""

    def column(self, kind: Kind) -> Column:
        return HeldColumn(kind)


def copied(source: Column, target: Column, *, block: int = 1 << 17) -> None:
    """Append all of one column to another."""
    for start in range(0, len(source), block):
        target.extend(source.read(start, min(start + block, len(source))))
