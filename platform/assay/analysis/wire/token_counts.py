"""Tokens of content events: whole numbers, or None where nothing tells. Eight bytes an event."""

from array import array
from collections.abc import Iterator, Sequence
from typing import overload

_UNKNOWN = -1


class TokenCounts(Sequence["int | None"]):
    """A growing sequence of counts; ``values`` is the compact form, -1 for unknown."""

    __slots__ = ("unknown", "values")

    def __init__(self) -> None:
        self.values = array("q")
        self.unknown = 0  # how many are None

    @classmethod
    def of(cls, values: "array[int]") -> "TokenCounts":
        """Counts out of their compact form."""
        made = cls()
        made.values, made.unknown = values, values.count(_UNKNOWN)
        return made

    @property
    def total(self) -> int | None:
        """Tokens of all events; None if those of one are not known."""
        return None if self.unknown else sum(self.values)

    def as_list(self) -> list[int | None]:
        if self.unknown == len(self.values):
            return [None] * self.unknown
        return list(self)

    def append(self, tokens: int | None) -> None:
        if tokens is None:
            self.unknown += 1
            self.values.append(_UNKNOWN)
        else:
            self.values.append(tokens)

    def extend_unknown(self, events: int) -> None:
        """So many events of which nothing tells the tokens."""
        self.unknown += events
        self.values.extend(array("q", [_UNKNOWN]) * events)

    def replace_all(self, values: "array[int]") -> None:
        """Other counts for the same events, all of them known."""
        self.values, self.unknown = values, 0

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> int | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[int | None]: ...
    def __getitem__(self, index: int | slice) -> int | list[int | None] | None:
        if isinstance(index, slice):
            return [_known(v) for v in self.values[index]]
        return _known(self.values[index])

    def __iter__(self) -> Iterator[int | None]:
        return iter(self.values) if not self.unknown else map(_known, self.values)

    def __contains__(self, wanted: object) -> bool:
        return bool(self.unknown) if wanted is None else wanted in self.values

    def count(self, wanted: int | None) -> int:
        return self.unknown if wanted is None else self.values.count(wanted)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it grows


def _known(value: int) -> int | None:
    return None if value == _UNKNOWN else value
