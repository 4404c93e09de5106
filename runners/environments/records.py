"""What an installed engine environment says of itself, and how one is found again."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runners.environments import notes
from runners.environments.pins import EnginePin

RECORD, LOCK, PARSER = "environment.json", "lock.txt", "parser.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One installed environment. ``files_sha256`` is over the installers' own lists of installed files."""

    folder: Path
    pin: EnginePin
    lock_sha256: str
    build: str | None  # the commit that the engine says it was built from
    python: str
    installed_at: str
    files_sha256: str

    @property
    def interpreter(self) -> Path:
        return self.folder / "bin" / "python"

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    @property
    def lock(self) -> Path:
        return self.folder / LOCK

    @property
    def parser(self) -> Path:
        return self.folder / PARSER

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "folder": str(self.folder), "name": self.pin.name}


def write(environment: Environment, into: Path) -> None:
    notes.write(environment, into / RECORD)


def read(folder: Path) -> Environment | None:
    """The environment in this folder; None if there is no readable record of one."""
    return notes.read(Environment, folder / RECORD)


def installed() -> Iterator[Environment]:
    """Every whole environment, by name."""
    return notes.installed(read)


def find(*, key: str, version: str, lock_sha256: str | None) -> Environment | None:
    """The environment made from exactly this lock; with None, the only one of that version."""
    of_version = [e for e in installed() if (e.pin.key, e.pin.version) == (key, version)]
    if lock_sha256 is None:
        return of_version[0] if len(of_version) == 1 else None
    return next((e for e in of_version if e.lock_sha256 == lock_sha256), None)


def files_digest(folder: Path) -> str:
    """sha256 over the RECORD of every installed distribution, in name order; each lists files and hashes.

    Lines of compiled modules (``.pyc``) are left out: Python writes them when it likes.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.glob("lib/python3*/site-packages/*.dist-info/RECORD")):
        digest.update(path.parent.name.encode() + b"\n")
        for line in path.read_bytes().splitlines():
            if b".pyc," not in line:
                digest.update(line + b"\n")
    return digest.hexdigest()
