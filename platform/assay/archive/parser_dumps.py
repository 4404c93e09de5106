"""Parsers of installed engine versions, as their installation dumped them below ``ASSAY_HOME/engines``.

The runner writes the record and dump of an environment or an image; here they are only read, to compare two
versions.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.archive.paths import Home

_RECORDS, _PARSER = ("environment.json", "image.json"), "parser.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedFlag:
    """The first of ``names`` is the one that it is listed by."""

    names: tuple[str, ...]
    default: str
    choices: tuple[str, ...]
    deprecated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """``environment`` names the installation, such as ``vllm-0.32.0-cpu``."""

    engine: str
    version: str
    environment: str
    build: str | None
    flags: Mapping[str, DumpedFlag]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagDifference:
    """One flag in two parsers; ``what`` is added, removed, default, choices or deprecated."""

    name: str
    what: str
    older: str
    newer: str


def dumps(home: Home, engine: str) -> Iterator[Dump]:
    """Every readable dump of an engine, in the order of environment names."""
    for folder in sorted(home.engines.glob("[!.]*")):
        found = _read(folder)
        if found is not None and found.engine == engine:
            yield found


def dump_of(home: Home, engine: str, version: str) -> Dump | None:
    return next((dump for dump in dumps(home, engine) if dump.version == version), None)


def compare(older: Dump, newer: Dump) -> list[FlagDifference]:
    """What changed between two parsers, by flag. A flag that got another first name counts as both."""
    found = []
    for name in sorted(set(older.flags) | set(newer.flags)):
        was, now = older.flags.get(name), newer.flags.get(name)
        if was is None or now is None:
            what = "added" if was is None else "removed"
            found.append(FlagDifference(name=name, what=what, older="", newer=""))
        else:
            found += _changed(name, was, now)
    return found


def _changed(name: str, was: DumpedFlag, now: DumpedFlag) -> Iterator[FlagDifference]:
    pairs = {
        "default": (was.default, now.default),
        "choices": (", ".join(was.choices), ", ".join(now.choices)),
        "deprecated": (str(was.deprecated).lower(), str(now.deprecated).lower()),
    }
    for what, (older, newer) in pairs.items():
        if older != newer:
            yield FlagDifference(name=name, what=what, older=older, newer=newer)


def _read(folder: Path) -> Dump | None:
    """None for an environment that is not whole: its installation says so, not this page."""
    try:
        name = next(name for name in _RECORDS if (folder / name).is_file())
        record = json.loads((folder / name).read_bytes())
        document = json.loads((folder / _PARSER).read_bytes())
        flags = [_flag(row) for row in document["flags"]]
        return Dump(
            engine=str(record["pin"]["key"]),
            version=str(document["version"]),
            environment=folder.name,
            build=document["build"],
            flags={flag.names[0]: flag for flag in flags},
        )
    except (StopIteration, OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def _flag(row: Mapping[str, Any]) -> DumpedFlag:
    long = [name for name in row["names"] if name.startswith("--")]
    return DumpedFlag(
        names=(*long, *(name for name in row["names"] if name not in long)),
        default=str(row["default"]),
        choices=tuple(row["choices"] or ()),
        deprecated=bool(row["deprecated"]),
    )
