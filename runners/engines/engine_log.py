"""The lines of an engine's log, numbered. What a line consists of is the engine's own form."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from runners.engines.stated_facts import LogLine

_MS_NS = 1_000_000
_S_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A line taken apart. ``wall_ns`` is null where it carries no time that can be used."""

    process: str
    wall_ns: int | None
    message: str


TakeApart = Callable[[str], Parts | None]  # None: the line is of another writer


def read_lines(path: Path, take_apart: TakeApart) -> Iterator[LogLine]:
    """Every line of an engine.log; nothing if there is no such file."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        yield from lines_of(lines, take_apart)


def lines_of(lines: Iterable[str], take_apart: TakeApart) -> Iterator[LogLine]:
    for number, text in enumerate(lines, start=1):
        line = text.rstrip("\r\n")
        parts = take_apart(line)
        if parts is None:
            yield LogLine(number=number, process=None, wall_ns=None, message=line)
        else:
            yield LogLine(
                number=number,
                process=parts.process,
                wall_ns=parts.wall_ns,
                message=parts.message,
            )


def utc_ns(text: str, form: str, *, ms: int = 0) -> int | None:
    """A printed time, in UTC, to whole seconds and the given milliseconds; None for another form."""
    try:
        stamp = datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(stamp.timestamp()) * _S_NS + ms * _MS_NS
