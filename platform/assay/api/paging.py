"""Pages of bounded size, and the words that say where in a list one is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from django.db.models import Model, QuerySet
from ninja import Schema
from pydantic import Field

LONGEST = 200
LAST = 1_000_000

M = TypeVar("M", bound=Model)


class Paging(Schema):
    """``page`` counts from one; a page behind the last one is empty."""

    page: Annotated[int, Field(ge=1, le=LAST)] = 1
    size: Annotated[int, Field(ge=1, le=LONGEST)] = 25

    @property
    def first(self) -> int:
        return (self.page - 1) * self.size


class Paged(Schema):
    """``next`` is null on the last page."""

    page: int
    pages: int
    size: int
    total: int
    next: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some rows of a list, and how many there are in all."""

    rows: Sequence[Any]
    total: int


def part_of(rows: QuerySet[M], paging: Paging) -> Part:
    total = rows.count()
    chosen = list(rows[paging.first : paging.first + paging.size]) if paging.first < total else []
    return Part(rows=chosen, total=total)


def place(paging: Paging, total: int) -> dict[str, int | None]:
    """The fields of ``Paged``."""
    pages = max(1, -(-total // paging.size))
    return {
        "page": paging.page,
        "pages": pages,
        "size": paging.size,
        "total": total,
        "next": paging.page + 1 if paging.page < pages else None,
    }
