"""Bounded reading of a file that nobody vouches for: size, nesting, kinds and ranges are looked at first."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from assay.analysis.errors import BadRecord

MOST_BYTES = 256 * 2**20
MOST_CALLS = 1_000_000
MOST_INSTANTS = 20_000_000
_LONGEST_LINE = 16 * 2**20
_LONGEST_TEXT = 200
_LARGEST_COUNT = 2**40
_LONGEST_S = 1e8  # three years


def refuse(field: str, seen: str, allowed: str, remedy: str) -> NoReturn:
    raise BadRecord(field=field, seen=seen, allowed=allowed, remedy=remedy)


def whole(path: Path) -> Any:
    """The JSON document of a file. NaN and infinities, which are no JSON, become null."""
    return _decode(_bytes(path), path.name)


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, object) of a JSON Lines file; blank lines are skipped."""
    for number, line in raw_lines(path):
        if line.strip():
            yield number, an_object(_decode(line, f"{path.name}:{number}"), f"line {number}")


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of a file's lines, none of them too long."""
    _check_size(path)
    with path.open("rb") as stream:
        number = 0
        while line := stream.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                refuse(
                    f"{path.name}:{number}",
                    f"more than {_LONGEST_LINE} bytes",
                    f"lines of at most {_LONGEST_LINE} bytes",
                    "Give the file as the tool wrote it.",
                )
            yield number, line


def _bytes(path: Path) -> bytes:
    _check_size(path)
    return path.read_bytes()


def _check_size(path: Path) -> None:
    size = path.stat().st_size
    if size > MOST_BYTES:
        refuse(
            path.name,
            f"{size} bytes",
            f"at most {MOST_BYTES} bytes",
            "Import a shorter run, or record it with `assay run`.",
        )


def _decode(data: bytes, where: str) -> Any:
    try:
        return json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        refuse(
            where,
            f"{type(error).__name__}: {str(error)[:120]}",
            "JSON as the tool writes it",
            "Give the file as the tool wrote it.",
        )


def _no_constant(name: str) -> Any:
    # Python's json writes and reads them; SGLang's request_rate is Infinity when all is sent at once.
    return {"NaN": None, "Infinity": None, "-Infinity": None}[name]


def an_object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        refuse(where, type(value).__name__, "an object", "Give the file as the tool wrote it.")
    return value


def a_list(value: Any, where: str, *, most: int = MOST_CALLS) -> list[Any]:
    if not isinstance(value, list):
        refuse(where, type(value).__name__, "a list", "Give the file as the tool wrote it.")
    if len(value) > most:
        refuse(where, f"{len(value)} entries", f"at most {most}", "Import a shorter run.")
    return value


def seconds(value: Any, where: str) -> float:
    """A time or a length of time in s: finite, not negative, within a human span (wall clocks included)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(where, repr(value)[:60], "a number", "Give the file as the tool wrote it.")
    found = float(value) if abs(value) < 1e18 else math.inf
    if not math.isfinite(found) or not 0 <= found <= 1e11:
        refuse(where, repr(value)[:60], "0 to 1e11 s", "Give the file as the tool wrote it.")
    return found


def duration_s(value: Any, where: str) -> float:
    found = seconds(value, where)
    if found > _LONGEST_S:
        refuse(
            where, repr(value)[:60], f"0 to {_LONGEST_S:g} s", "Give the file as it was written."
        )
    return found


def durations_s(value: Any, where: str) -> Sequence[float]:
    return [duration_s(v, f"{where}[{i}]") for i, v in enumerate(a_list(value, where))]


def count(value: Any, where: str) -> int | None:
    """A whole number, 0 or more, or null."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        refuse(where, repr(value)[:60], "a whole number", "Give the file as the tool wrote it.")
    if not 0 <= value <= _LARGEST_COUNT:
        refuse(
            where, repr(value)[:60], f"0 to {_LARGEST_COUNT}", "Give the file as it was written."
        )
    return int(value)


def number(value: Any) -> float | None:
    """A finite number of a summary, or None for whatever else stands there."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    found = float(value) if abs(value) < 1e300 else math.inf
    return found if math.isfinite(found) else None


def text(value: Any) -> str | None:
    """A short text without control characters, or None."""
    if not isinstance(value, str) or not value:
        return None
    return "".join(c if c.isprintable() else " " for c in value[:_LONGEST_TEXT]).strip() or None
