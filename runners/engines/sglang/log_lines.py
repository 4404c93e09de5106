"""One line of SGLang's log taken apart: which process printed it, when, and what it says.

A time is usable where it is printed to the millisecond, which this adapter asks for (it sets UTC, too). The
lines about requests are printed in whole seconds all the same, and carry times of their own.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from runners.engines.stated_facts import LogLine

RESOLUTION_NS = 1_000_000  # of a printed time: it was cut, not rounded
MAIN = "engine"  # one process prints without naming itself
_LINE = re.compile(
    r"^\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(?P<ms>\d{3}))?(?P<process>(?: [A-Z]+\d+)*)\] "
    r"(?P<message>.*)$"
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
        match = _LINE.match(line)
        if match is None:
            yield LogLine(number=number, process=None, wall_ns=None, message=line)
        else:
            yield LogLine(
                number=number,
                process=match["process"].strip() or MAIN,
                wall_ns=_wall_ns(match["time"], match["ms"]),
                message=match["message"],
            )


def _wall_ns(second: str, ms: str | None) -> int | None:
    if ms is None:
        return None
    stamp = datetime.strptime(second, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return int(stamp.timestamp()) * 1_000_000_000 + int(ms) * 1_000_000
