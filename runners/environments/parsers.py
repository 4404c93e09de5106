"""The command-line parser of an installed engine version, as it was dumped: the one judge of its flags.

An announced removal has not happened, and a flag of another version is no flag of this one: only the dump
decides that a flag is unknown.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.protocol.errors import EnvironmentLacks, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """``names`` are all spellings, negations too. ``takes_value`` is false for a plain switch."""

    names: tuple[str, ...]
    takes_value: bool
    choices: tuple[str, ...]
    deprecated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserDump:
    version: str
    build: str | None
    flags: Mapping[str, Flag]  # by every spelling

    def knows(self, name: str) -> bool:
        """Whether the parser takes ``--name``; ``--group.key`` sets a key of the group's own object."""
        return name.partition(".")[0] in self.flags

    def nearest(self, name: str) -> str | None:
        """The known spelling that is most like an unknown one, if any is like it at all."""
        close = difflib.get_close_matches(name, self.flags, n=1, cutoff=0.6)
        return close[0] if close else None

    def unknown(self, names: Iterable[str], *, field: str) -> list[Finding]:
        """A finding for each flag that this version does not take, with the nearest one that it takes."""
        return [
            Finding(
                field=f"{field}.{name}",
                seen=f"{name} is no flag of version {self.version}, by its own parser",
                allowed=f"the {len(self.flags)} spellings that it takes",
                remedy=f"The nearest is {near}."
                if (near := self.nearest(name))
                else "Leave it out.",
            )
            for name in names
            if not self.knows(name)
        ]


def printed_dump(text: str) -> dict[str, Any]:
    """What a dump script printed, behind whatever the engine's own modules print as they are loaded."""
    _, brace, rest = text.rpartition("\n{")
    return dict(json.loads(brace + rest))


def read(path: Path) -> ParserDump:
    """Raises EnvironmentLacks where the dump is not there or not whole: the environment is not whole then."""
    try:
        document = json.loads(path.read_bytes())
        flags = [
            Flag(
                names=tuple(row["names"]),
                takes_value=bool(row["takes_value"]),
                choices=tuple(row["choices"] or ()),
                deprecated=bool(row["deprecated"]),
            )
            for row in document["flags"]
        ]
        return ParserDump(
            version=str(document["version"]),
            build=document["build"],
            flags={name: flag for flag in flags for name in flag.names},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EnvironmentLacks(
            Finding(
                field="engine.environment",
                seen=f"{path} cannot be read: {error}",
                allowed="the parser dump that the installation wrote",
                remedy="Install the environment again: assay engines remove, assay engines install.",
            )
        ) from error
