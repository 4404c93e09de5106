"""Rows of public request traces: when each request came, how long it was, which blocks of prompt it shares.

Mooncake (JSONL, https://github.com/kvcache-ai/Mooncake): ``timestamp`` in ms, ``input_length``,
``output_length``, ``hash_ids`` of 512-token blocks, equal for equal prefixes. Azure LLM inference (CSV,
https://github.com/Azure/AzurePublicDataset): ``TIMESTAMP`` as a date with up to 9 fraction digits,
``ContextTokens``, ``GeneratedTokens``. BurstGPT (CSV, https://github.com/HPMLL/BurstGPT): ``Timestamp`` in
s, ``Request tokens``, ``Response tokens``; failed requests have 0 response tokens.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from runners.protocol.errors import Finding, Refused

MAX_TOKENS = 2**31 - 1
MAX_TIME_NS = 2**62
BLOCK_TOKENS = 512  # of a Mooncake hash id

_AZURE = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """``t_ns`` counts from whatever the trace counts from; ``line`` is where the row stands in its file."""

    line: int
    t_ns: int
    input_tokens: int
    output_tokens: int
    blocks: tuple[int, ...] = ()


def read_rows(lines: Iterable[str], *, trace_format: str, file: str) -> Iterator[TraceRow]:
    """Rows in file order. Raises Refused naming file, line, field and value of the first that is garbage."""
    if trace_format == "mooncake":
        yield from _mooncake(lines, file)
        return
    names = _CSV_COLUMNS[trace_format]
    read_time = _azure_ns if trace_format == "azure" else _seconds_ns
    for line, cells in _csv_rows(lines, names, file):
        time_cell, asked, answered = (cells[name] for name in names)
        yield TraceRow(
            line=line,
            t_ns=_in_range(read_time(time_cell), time_cell, f"{file}:{line} {names[0]}"),
            input_tokens=_count(asked, f"{file}:{line} {names[1]}"),
            output_tokens=_count(answered, f"{file}:{line} {names[2]}"),
        )


_CSV_COLUMNS = {
    "azure": ("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    "burstgpt": ("Timestamp", "Request tokens", "Response tokens"),
}


def _mooncake(lines: Iterable[str], file: str) -> Iterator[TraceRow]:
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        where = f"{file}:{number}"
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise _garbage(where, text, "a JSON object")
        t_ns = _decimal_ns(row.get("timestamp"), per_unit=1_000_000)
        blocks = row.get("hash_ids") or []
        if not isinstance(blocks, list) or not all(_is_whole(b) for b in blocks):
            raise _garbage(f"{where} hash_ids", blocks, "a list of whole numbers")
        yield TraceRow(
            line=number,
            t_ns=_in_range(t_ns, row.get("timestamp"), f"{where} timestamp"),
            input_tokens=_count(row.get("input_length"), f"{where} input_length"),
            output_tokens=_count(row.get("output_length"), f"{where} output_length"),
            blocks=tuple(blocks),
        )


def _csv_rows(
    lines: Iterable[str], names: tuple[str, ...], file: str
) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(lines)
    try:
        head = [cell.strip().removeprefix("\ufeff") for cell in next(reader, [])]
        if missing := [name for name in names if name not in head]:
            raise _garbage(f"{file}:1", ",".join(head), f"a head with {', '.join(missing)}")
        places = {name: head.index(name) for name in names}
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(head):
                raise _garbage(
                    f"{file}:{reader.line_num}", ",".join(cells), f"{len(head)} cells, as the head"
                )
            yield reader.line_num, {name: cells[place] for name, place in places.items()}
    except csv.Error as error:
        raise _garbage(f"{file}:{reader.line_num}", error, "readable CSV") from error


def _azure_ns(cell: str) -> int | None:
    match = _AZURE.fullmatch(cell.strip())
    if match is None:
        return None
    try:
        whole = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    except ValueError:
        return None
    # Seven digits, which datetime would cut to six: the fraction is read by itself.
    return round(whole.timestamp()) * 1_000_000_000 + int((match[2] or "").ljust(9, "0"))


def _seconds_ns(cell: str) -> int | None:
    return _decimal_ns(cell.strip(), per_unit=1_000_000_000)


def _decimal_ns(value: Any, *, per_unit: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    # An exponent in the thousands would make a number that takes minutes to write out.
    if not number.is_finite() or number.adjusted() > 18:
        return None
    return round(number * per_unit)


def _in_range(t_ns: int | None, seen: Any, where: str) -> int:
    if t_ns is None or not 0 <= t_ns < MAX_TIME_NS:
        raise _garbage(where, seen, "a time of this format, from 0")
    return t_ns


def _count(value: Any, where: str) -> int:
    number = value
    if isinstance(value, str) and re.fullmatch(r"\d{1,10}(\.0+)?", value.strip(), re.ASCII):
        number = int(value.strip().partition(".")[0])
    if not _is_whole(number) or not 0 <= number <= MAX_TOKENS:
        raise _garbage(where, value, f"a whole number of tokens, 0 to {MAX_TOKENS}")
    return int(number)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _garbage(where: str, seen: Any, allowed: str) -> Refused:
    return Refused(
        Finding(
            field=f"load.trace: {where}",
            seen=str(seen).strip()[:80] or "nothing",
            allowed=allowed,
            remedy="Check load.trace.format, or mend or leave out this row.",
        )
    )
