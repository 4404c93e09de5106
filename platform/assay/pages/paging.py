"""Pages of 25 rows with stable links."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

PAGE_ROWS = 25

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which rows of how many; ``number`` counts pages from one."""

    number: int
    total: int
    size: int = PAGE_ROWS

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.size))

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.size

    @property
    def first(self) -> int:
        return self.offset + 1 if self.total else 0

    @property
    def last(self) -> int:
        return min(self.offset + self.size, self.total)

    @property
    def previous(self) -> int | None:
        return self.number - 1 if self.number > 1 else None

    @property
    def next(self) -> int | None:
        return self.number + 1 if self.number < self.pages else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paged(Generic[Row]):
    rows: Sequence[Row]
    window: Window


def window(total: int, asked: str | None, size: int = PAGE_ROWS) -> Window:
    """The asked page, moved into range; anything that is no number means the first page."""
    number = int(asked) if asked and asked.isascii() and asked.isdigit() and len(asked) < 10 else 1
    found = Window(number=1, total=total, size=size)
    return Window(number=min(max(number, 1), found.pages), total=total, size=size)
