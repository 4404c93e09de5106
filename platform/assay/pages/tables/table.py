"""A table of a page as it is exported: its columns, and the rows that a request asks for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from assay.pages.contexts.head import RunHead

Rows = Iterable[Sequence[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """``rows`` yields exact values; a value that is missing is None beside a reason in another column."""

    columns: Sequence[str]
    rows: Callable[[RunHead, HttpRequest], Rows]


Tables = dict[str, Table]
