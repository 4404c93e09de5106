"""Columns that say of many attempts what an object each would say in ten times the memory.

``Numbers`` hold whole numbers, ``Coded`` values of which there are few, ``Texts`` ids that are all different.
Each gives back what it was given, None included.
"""

from array import array
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = -(2**63)


class Numbers:
    """Whole numbers above -2**63, or None."""

    __slots__ = ("stored",)

    def __init__(self) -> None:
        self.stored = array("q")

    def append(self, value: int | None) -> None:
        self.stored.append(MISSING if value is None else value)

    def extend(self, other: "Numbers") -> None:
        self.stored.extend(other.stored)

    def known(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The numbers at these places, and which of them are known; others mean nothing."""
        found = np.frombuffer(self.stored, dtype=np.int64)[places]
        return found, found != MISSING

    def __getitem__(self, at: int) -> int | None:
        value = self.stored[at]
        return None if value == MISSING else value


class Coded:
    """Any values of which there are few different ones. ``key`` makes one hashable; None: it is."""

    __slots__ = ("_code_of", "_key", "codes", "values")

    def __init__(self, key: Callable[[Any], Hashable] | None = None) -> None:
        self._key = key
        self.codes = array("i")
        self._code_of: dict[Hashable, int] = {}
        self.values: list[Any] = []

    def append(self, value: Any) -> None:
        code = self._code_of.get(value if self._key is None else self._key(value))
        self.codes.append(self._coded(value) if code is None else code)

    def extend(self, other: "Coded") -> None:
        """Codes of the other are its own: each value gets the one that it has here."""
        if not other.codes:
            return
        codes = np.array([self._coded(value) for value in other.values], dtype=np.intc)
        self.codes.frombytes(codes[np.frombuffer(other.codes, dtype=np.intc)].tobytes())

    def __getitem__(self, at: int) -> Any:
        return self.values[self.codes[at]]

    def where(self, holds: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """For each place whether its value is one of which this holds."""
        told = np.array([holds(value) for value in self.values], dtype=bool)
        found: NDArray[np.bool_] = told[np.frombuffer(self.codes, dtype=np.intc)]
        return found

    def _coded(self, value: Any) -> int:
        name = value if self._key is None else self._key(value)
        code = self._code_of.get(name)
        if code is None:
            code = self._code_of[name] = len(self.values)
            self.values.append(value)
        return code


class Texts:
    """Texts of any kind, or None, one after the other."""

    __slots__ = ("_bytes", "_ends", "_missing")

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("q", [0])
        self._missing = bytearray()

    def append(self, value: str | None) -> None:
        if value is not None:
            self._bytes += value.encode()
        self._missing.append(value is None)
        self._ends.append(len(self._bytes))

    def extend(self, other: "Texts") -> None:
        first = len(self._bytes)
        ends = np.frombuffer(other._ends, dtype=np.int64)[1:] + first
        self._bytes += other._bytes
        self._missing += other._missing
        self._ends.frombytes(ends.tobytes())

    def padded(self, places: NDArray[np.int64]) -> tuple[NDArray[np.bytes_], NDArray[np.bool_]]:
        """The texts at these places to be compared, as bytes of one length, and which are there.

        Each ends with a byte of 1, so that none is told from another by the padding.
        """
        ends = np.frombuffer(self._ends, dtype=np.int64)
        starts, sizes = ends[places], ends[places + 1] - ends[places]
        width = int(sizes.max(initial=0)) + 1
        found = np.zeros((len(places), width), dtype=np.uint8)
        owner = np.repeat(np.arange(len(places)), sizes)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        stored = np.frombuffer(self._bytes, dtype=np.uint8)
        found[owner, within] = stored[np.repeat(starts, sizes) + within]
        found[np.arange(len(places)), sizes] = 1
        missing = np.frombuffer(self._missing, dtype=np.bool_)[places]
        return found.view(f"S{width}")[:, 0], ~missing

    def __getitem__(self, at: int) -> str | None:
        if self._missing[at]:
            return None
        return self._bytes[self._ends[at] : self._ends[at + 1]].decode()
