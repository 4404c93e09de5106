"""One line of SGLang's log taken apart: which process printed it, when, and what it says.

A time is usable where it is printed to the millisecond, which this adapter asks for (it sets UTC, too). The
lines about requests are printed in whole seconds all the same, and carry times of their own.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from runners.engines import engine_log
from runners.engines.engine_log import Parts
from runners.engines.stated_facts import LogLine

RESOLUTION_NS = 1_000_000  # of a printed time: it was cut, not rounded
MAIN = "engine"  # one process prints without naming itself
_LINE = re.compile(
    r"^\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(?P<ms>\d{3}))?(?P<process>(?: [A-Z]+\d+)*)\] "
    r"(?P<message>.*)$"
)


def read_lines(path: Path) -> Iterator[LogLine]:
    return engine_log.read_lines(path, _parts)


def lines_of(lines: Iterable[str]) -> Iterator[LogLine]:
    return engine_log.lines_of(lines, _parts)


def _parts(line: str) -> Parts | None:
    match = _LINE.match(line)
    if match is None:
        return None
    ms = match["ms"]
    wall_ns = engine_log.utc_ns(match["time"], "%Y-%m-%d %H:%M:%S", ms=int(ms)) if ms else None
    return Parts(
        process=match["process"].strip() or MAIN, wall_ns=wall_ns, message=match["message"]
    )
