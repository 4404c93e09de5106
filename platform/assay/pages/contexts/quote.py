"""The very lines of a file, or the rows of a table, that a piece of evidence points at."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from django.utils.translation import gettext as _

from assay.pages.hostile import visible

AROUND = 6  # lines shown before and after the line pointed at
LINE_CHARACTERS = 2_000
QUERY_ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    number: int
    text: str
    this: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Lines around the one pointed at, or rows that answer a query, or why there is neither."""

    file: str
    line: int | None = None
    query: str = ""
    lines: tuple[Line, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    more_rows: bool = False
    remark: str = ""
    problem: str = ""


def quote_lines(path: Path, name: str, line: int) -> Quote:
    """``AROUND`` lines on both sides of line ``line`` (counted from one)."""
    first = max(1, line - AROUND)
    with path.open("rb") as stream:
        found = tuple(
            Line(number=first + offset, text=_readable(raw), this=first + offset == line)
            for offset, raw in enumerate(islice(stream, first - 1, line + AROUND))
        )
    if not any(shown.this for shown in found):
        return Quote(file=name, line=line, problem=_("the file has no line of that number"))
    return Quote(file=name, line=line, lines=found)


def quote_row(path: Path, name: str, number: int) -> Quote:
    """Row ``number`` (counted from one) of a Parquet table, one line a column."""
    found = pl.scan_parquet(path).slice(number - 1, 1).collect() if number > 0 else pl.DataFrame()
    if found.height == 0:
        return Quote(file=name, line=number, problem=_("the table has no row of that number"))
    return Quote(
        file=name,
        line=number,
        columns=(_("column"), _("value in row {n}").format(n=number)),
        rows=tuple(
            (column, _shortened(value)) for column, value in found.row(0, named=True).items()
        ),
    )


def _shortened(value: Any) -> Any:
    return f"{len(value)} bytes" if isinstance(value, bytes) else value


def quote_rows(path: Path, name: str, query: str) -> Quote:
    """Rows of a Parquet table or of a JSON list that hold every ``key=value`` of ``query``."""
    wanted = parse_query(query)
    if path.suffix == ".parquet":
        rows, columns = _parquet_rows(path, wanted)
    elif path.suffix in (".json", ".jsonl"):
        rows, columns = _json_rows(path, wanted)
    else:
        return Quote(file=name, query=query, problem=_("this kind of file takes no query"))
    if not rows:
        return Quote(file=name, query=query, problem=_("no row of the file answers this query"))
    return Quote(
        file=name,
        query=query,
        columns=columns,
        rows=tuple(rows[:QUERY_ROWS]),
        more_rows=len(rows) > QUERY_ROWS,
    )


def parse_query(query: str) -> dict[str, str]:
    """``name=aten::mm, count=12`` as a dict; parts are parted by commas, ampersands or `` and ``."""
    parts = query.replace("&", ",").replace(" and ", ",").split(",")
    pairs = (part.split("=", 1) for part in parts if "=" in part)
    return {key.strip(" ="): value.strip(" ='\"") for key, value in pairs}


def _readable(raw: bytes) -> str:
    return visible(raw.rstrip(b"\r\n").decode("utf-8", "replace"), LINE_CHARACTERS)


def _parquet_rows(
    path: Path, wanted: dict[str, str]
) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    frame = pl.scan_parquet(path)
    columns = frame.collect_schema().names()
    for key in wanted:
        if key not in columns:
            return [], ()
    conditions = [pl.col(key).cast(pl.String) == value for key, value in wanted.items()]
    chosen = frame.filter(*conditions) if conditions else frame
    return chosen.head(QUERY_ROWS + 1).collect().rows(), tuple(columns)


def _json_rows(path: Path, wanted: dict[str, str]) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    found = [
        row
        for row in _json_objects(path)
        if all(str(row.get(key)) == value for key, value in wanted.items())
    ][: QUERY_ROWS + 1]
    columns = tuple(dict.fromkeys(key for row in found for key in row))
    return [tuple(row.get(column) for column in columns) for row in found], columns


def _json_objects(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".jsonl":
        with path.open("rb") as stream:
            for raw in stream:
                row = json.loads(raw)
                if isinstance(row, dict):
                    yield row
        return
    document = json.loads(path.read_bytes())
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list)]
        document = lists[0] if lists else [document]
    yield from (row for row in document if isinstance(row, dict))
