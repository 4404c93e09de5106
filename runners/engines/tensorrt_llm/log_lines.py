"""One line of TensorRT-LLM's log taken apart. Documented forms, never seen printed here.

Its Python side prints ``[month/day/year-time] [TRT-LLM] [I] [_torch][RANK 0] message``, its C++ side
``[TensorRT-LLM][INFO] message`` without a time. Times are whole seconds.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from runners.engines import engine_log
from runners.engines.engine_log import Parts
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
    return engine_log.read_lines(path, _parts)


def lines_of(lines: Iterable[str]) -> Iterator[LogLine]:
    return engine_log.lines_of(lines, _parts)


def _parts(line: str) -> Parts | None:
    if match := _PYTHON.match(line):
        time = match["time"]
        wall_ns = engine_log.utc_ns(time, "%m/%d/%Y-%H:%M:%S") if time else None
        process = f"rank {match['rank'] or 0}"
        return Parts(process=process, wall_ns=wall_ns, message=match["message"])
    if match := _NATIVE.match(line):
        process = f"native, rank {match['rank'] or 0}"
        return Parts(process=process, wall_ns=None, message=match["message"])
    return None
