"""One line of TensorRT-LLM's log taken apart. Documented forms, never seen printed here.

Its Python side prints ``[month/day/year-time] [TRT-LLM] [I] [_torch][RANK 0] message``, its C++ side
``[TensorRT-LLM][INFO] message`` without a time. Times are whole seconds.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from runners.engines.stated_facts import LogLine

RESOLUTION_NS = 1_000_000_000
_PYTHON = re.compile(
    r"^(?:\[(?P<time>\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d)\] )?\[TRT-LLM\] (?:\[[A-Z]\] )?"
    r"(?:\[_torch\])?(?:\[RANK (?P<rank>\d+)\] ?)?(?P<message>.*)$"
)
_NATIVE = re.compile(
    r"^\[TensorRT-LLM\](?:\[[A-Z]+\])? ?(?:\[RANK (?P<rank>\d+)\] ?)?(?P<message>.*)$"
)


def read_lines(path: Path) -> Iterator[LogLine]:
    """Every line of an engine.log; nothing if there is no such file."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        yield from lines_of(lines)


def lines_of(lines: Iterable[str]) -> Iterator[LogLine]:
    for number, text in enumerate(lines, start=1):
        line = text.rstrip("\r\n")
        if match := _PYTHON.match(line):
            process, wall_ns = f"rank {match['rank'] or 0}", _wall_ns(match["time"])
        elif match := _NATIVE.match(line):
            process, wall_ns = f"native, rank {match['rank'] or 0}", None
        else:
            yield LogLine(number=number, process=None, wall_ns=None, message=line)
            continue
        yield LogLine(number=number, process=process, wall_ns=wall_ns, message=match["message"])


def _wall_ns(text: str | None) -> int | None:
    if text is None:
        return None
    stamp = datetime.strptime(text, "%m/%d/%Y-%H:%M:%S").replace(tzinfo=UTC)
    return int(stamp.timestamp()) * 1_000_000_000
