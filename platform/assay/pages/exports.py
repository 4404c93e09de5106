"""Tables as files: CSV, JSON and Parquet, with exact values; an unknown is empty, its reason beside it."""

import csv
import io
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

# A cell that begins like this is a formula to a spreadsheet, and model output reaches some tables.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

CSV, JSON, PARQUET = "csv", "json", "parquet"
FORMATS = (CSV, JSON, PARQUET)
_IN_MEMORY_BYTES = 2**22  # a larger Parquet file is made on disk


def table(
    name: str, form: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> HttpResponseBase:
    """``rows`` as a download named ``name``; ``form`` is one of ``FORMATS``."""
    if form == JSON:
        response: HttpResponseBase = HttpResponse(
            _json_text(columns, rows), content_type="application/json"
        )
    elif form == PARQUET:
        response = FileResponse(
            _parquet_file(columns, rows), content_type="application/vnd.apache.parquet"
        )
    else:
        response = StreamingHttpResponse(
            _csv_lines(columns, rows), content_type="text/csv; charset=utf-8"
        )
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


def _json_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    objects = [dict(zip(columns, row, strict=True)) for row in rows]
    return json.dumps(objects, default=str, allow_nan=False)


def _csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in row])
        if buffer.tell() > 2**16:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, default=str)
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    return value


def _parquet_file(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """Values keep their types; a column that mixes types becomes text, as do lists and objects."""
    stored = [[_stored(value) for value in row] for row in rows]
    frame = pl.DataFrame(
        {name: _column([row[at] for row in stored]) for at, name in enumerate(columns)}
    )
    target = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115 - the response closes it
    frame.write_parquet(target)
    target.seek(0)
    return target


def _stored(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, default=str)
    return str(value)


def _column(values: list[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pl.Series(values=values, dtype=pl.Float64, strict=False)
    if len(kinds) > 1:
        return pl.Series(values=[None if v is None else str(v) for v in values], dtype=pl.String)
    return pl.Series(values=values, dtype=None if kinds else pl.String)
