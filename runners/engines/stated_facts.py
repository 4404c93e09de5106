"""Facts that an engine prints of itself: a table of line forms, and the facts that a log's lines state.

A form must match the whole message. A line that changed its form matches nothing: its fact is absent, which
is a gap, and never a wrong fact.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """``number`` counts from 1. ``wall_ns`` is null where the line carries no time that can be used.

    ``process`` is null for a line that is not of the engine's own form.
    """

    number: int
    process: str | None
    wall_ns: int | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The named groups of ``pattern`` are the fact's value; those in ``texts`` stay text."""

    fact: str
    pattern: re.Pattern[str]
    needed: bool = False  # every start of a known version prints it
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """The last line of that form; ``value`` holds its named groups, numbers as numbers."""

    name: str
    line: int
    process: str
    value: Mapping[str, Any]


_NUMBER = re.compile(r"-?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")


def form(fact: str, pattern: str, *, needed: bool = False, texts: tuple[str, ...] = ()) -> Form:
    return Form(fact=fact, pattern=re.compile(pattern), needed=needed, texts=texts)


def facts_of(lines: Iterable[LogLine], forms: Sequence[Form]) -> dict[str, Fact]:
    """The last statement of each fact, by its name."""
    found: dict[str, Fact] = {}
    for line in lines:
        if line.process is None:
            continue
        for known in forms:
            if (match := known.pattern.fullmatch(line.message)) is not None:
                found[known.fact] = Fact(
                    name=known.fact,
                    line=line.number,
                    process=line.process,
                    value={
                        name: text if name in known.texts else _value(text)
                        for name, text in match.groupdict().items()
                    },
                )
                break
    return found


def absent(found: Mapping[str, Fact], forms: Sequence[Form]) -> list[str]:
    """Facts that every start of a known version states and this log does not."""
    return [f.fact for f in forms if f.needed and f.fact not in found]


def _value(text: str | None) -> Any:
    if text is None or not _NUMBER.fullmatch(text):
        return text
    plain = text.replace(",", "")
    return float(plain) if "." in plain else int(plain)
