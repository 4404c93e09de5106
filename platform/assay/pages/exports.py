"""Tables as files: CSV and JSON with exact values, unknowns as empty cells beside their reason column."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

# A cell that begins like this is a formula to a spreadsheet, and model output reaches some tables.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

FORMATS = ("csv", "json")


def table(
    name: str, form: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> HttpResponseBase:
    """``rows`` as a download named ``name``; ``form`` is csv or json."""
    if form == "json":
        objects = [dict(zip(columns, row, strict=True)) for row in rows]
        response: HttpResponseBase = HttpResponse(
            json.dumps(objects, default=str, allow_nan=False), content_type="application/json"
        )
    else:
        response = StreamingHttpResponse(
            _csv_lines(columns, rows), content_type="text/csv; charset=utf-8"
        )
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return response


def _csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterable[str]:
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
    if isinstance(value, dict | list):
        return json.dumps(value)
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    return value
