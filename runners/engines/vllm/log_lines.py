"""One line of vLLM's log taken apart: who printed it, when, and what it says.

Two forms are read: the one that this adapter configures (UTC to the millisecond) and the engine's usual one
(local, whole seconds, no year), which carries no usable time. Lines of other writers have no process.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

RESOLUTION_NS = 1_000_000  # of a printed time: it was cut, not rounded
_LINE = re.compile(
    r"^\((?P<process>[\w-]+) pid=(?P<pid>\d+)\) (?P<level>[A-Z]+) (?P<time>\S+(?: \d\d:\d\d:\d\d)?) "
    r"\[(?P<file>[^\]:]+):\d+\] (?P<message>.*)$"
)
_STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """``number`` counts from 1. ``wall_ns`` is null where the line carries no time that can be used."""

    number: int
    process: str | None
    wall_ns: int | None
    file: str | None  # the module that printed it
    message: str


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
            yield LogLine(number=number, process=None, wall_ns=None, file=None, message=line)
        else:
            yield LogLine(
                number=number,
                process=match["process"],
                wall_ns=_wall_ns(match["time"]),
                file=match["file"],
                message=match["message"],
            )


def _wall_ns(text: str) -> int | None:
    try:
        stamp = datetime.strptime(text, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    whole = int(stamp.replace(microsecond=0).timestamp())
    return whole * 1_000_000_000 + stamp.microsecond * 1_000
