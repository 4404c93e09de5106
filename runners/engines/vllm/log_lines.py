"""One line of vLLM's log taken apart: who printed it, when, and what it says.

Two forms are read: the one that this adapter configures (UTC to the millisecond) and the engine's usual one
(local, whole seconds, no year), which carries no usable time. Lines of other writers have no process.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from runners.engines import engine_log
from runners.engines.engine_log import Parts
from runners.engines.stated_facts import LogLine

RESOLUTION_NS = 1_000_000  # of a printed time: it was cut, not rounded
_LINE = re.compile(
    r"^\((?P<process>[\w-]+) pid=\d+\) [A-Z]+ (?P<time>\S+(?: \d\d:\d\d:\d\d)?) "
    r"\[[^\]:]+:\d+\] (?P<message>.*)$"
)
_STAMP = re.compile(r"(?P<second>\S+)\.(?P<ms>\d{3})Z")


def read_lines(path: Path) -> Iterator[LogLine]:
    return engine_log.read_lines(path, _parts)


def lines_of(lines: Iterable[str]) -> Iterator[LogLine]:
    return engine_log.lines_of(lines, _parts)


def _parts(line: str) -> Parts | None:
    match = _LINE.match(line)
    if match is None:
        return None
    stamp = _STAMP.fullmatch(match["time"])
    wall_ns = (
        engine_log.utc_ns(stamp["second"], "%Y-%m-%dT%H:%M:%S", ms=int(stamp["ms"]))
        if stamp
        else None
    )
    return Parts(process=match["process"], wall_ns=wall_ns, message=match["message"])
