"""All records there are, by engine: looked up by version, and between two versions."""

from functools import cache

from packaging.version import InvalidVersion, Version

from experiments.changes.loader import RECORDS, load
from experiments.changes.record import VersionRecord
from experiments.errors import refuse


def engines() -> list[str]:
    """Keys of the engines that have records."""
    return sorted(path.stem for path in RECORDS.glob("*.yaml"))


@cache
def records(engine: str) -> tuple[VersionRecord, ...]:
    """Oldest first; empty for an engine without a file. Raises Refusal for a file that is not right."""
    path = RECORDS / f"{engine}.yaml"
    return tuple(load(path)) if path.is_file() else ()


def find(engine: str, version: str) -> VersionRecord | None:
    return next((r for r in records(engine) if r.version == version), None)


def up_to(engine: str, version: str) -> tuple[VersionRecord, ...]:
    """Records of this version and those before it: what a command written earlier may trip over."""
    limit = parsed(version)
    return tuple(record for record in records(engine) if record.order <= limit)


def between(engine: str, older: str, newer: str) -> tuple[VersionRecord, ...]:
    """Records after ``older`` up to and with ``newer``."""
    first, last = parsed(older), parsed(newer)
    if first >= last:
        raise refuse(
            field="versions",
            seen=f"{older}..{newer}",
            allowed="the older version first, and another one after it",
            remedy="Turn them round.",
        )
    return tuple(record for record in records(engine) if first < record.order <= last)


def parsed(version: str) -> Version:
    """A version to compare by; a local part (``+cpu``) does not count. Raises Refusal."""
    try:
        return Version(Version(version).public)
    except InvalidVersion as error:
        raise refuse(
            field="version", seen=version, allowed="a version such as 0.32.0", remedy="Correct it."
        ) from error
