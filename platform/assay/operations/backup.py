"""Database and store in one folder, checked to the byte, and back into an empty home.

The database is copied first and the store after it: a bundle lies in the store before its row is written, so
every row of the copy has its bundle. Nothing is let go of meanwhile. The folder
has its name once it is whole.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

from assay.archive.paths import Home
from assay.operations import retention
from assay.operations.database_copies import RefusedRestore, copy_in, copy_out, refuse_unless_empty
from runners.protocol import manifest

FORMAT = 1
DOCUMENT = "backup.json"
DOCUMENT_DIGEST = "backup.sha256"
DATABASE = "database"
# Engines, artifacts and the static files are made again; executions are live; the key signs sessions only.
FOLDERS = (
    "store",
    "derived",
    "quarantine",
    "devices",
    "calibrations",
    "step_calibrations",
    "searches",
    "studies",
    "models",
)
_MAY_BE_THERE = frozenset({"secret_key", "logs", "static"})  # in a home that nothing ran in yet


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    folder: Path
    files: int
    bytes: int


def back_up(home: Home, out: Path) -> BackedUp:
    """Raises RefusedRestore if ``out`` is there already."""
    if out.exists():
        raise RefusedRestore(f"OUT: {out} is there (allowed: a new folder). Name another")
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a backup that was cut
    partial.mkdir(
        mode=0o700, parents=True
    )  # it holds what the database holds: names, hashes of passwords
    with retention.alone(home):
        database = copy_out(partial / DATABASE)
        for name in FOLDERS:
            if (home.root / name).is_dir():
                shutil.copytree(home.root / name, partial / name, symlinks=True, ignore=_unfinished)
    files = list(_listed(partial))
    document = {
        "format": FORMAT,
        "kind": "assay-backup",
        "assay": version("assay"),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "database": database,
        "files": files,
    }
    body = manifest.canonical(document)
    (partial / DOCUMENT).write_bytes(body)
    (partial / DOCUMENT_DIGEST).write_text(
        hashlib.sha256(body).hexdigest() + "\n", encoding="ascii"
    )
    partial.rename(out)
    return BackedUp(folder=out, files=len(files), bytes=sum(f["bytes"] for f in files))


def _unfinished(_folder: str, names: list[str]) -> list[str]:
    """What is being stored or read this moment has no row yet."""
    return [name for name in names if name.startswith(".reading-") or ".partial-" in name]


def _listed(root: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(root).as_posix()
            yield {"path": name, "bytes": path.stat().st_size, "sha256": manifest.sha256_of(path)}


def check(source: Path) -> dict[str, Any]:
    """The document of a backup whose every file is as it was written. Raises RefusedRestore."""
    try:
        body = (source / DOCUMENT).read_bytes()
        stated = (source / DOCUMENT_DIGEST).read_text(encoding="ascii").strip()
    except OSError as error:
        raise RefusedRestore(
            f"backup: {source}: {error.strerror} (allowed: a folder that `assay backup` made)"
        ) from error
    if hashlib.sha256(body).hexdigest() != stated:
        raise RefusedRestore(f"backup: {source / DOCUMENT}: changed (allowed: as it was written)")
    document: dict[str, Any] = json.loads(body)
    if document.get("format") != FORMAT:
        raise RefusedRestore(f"backup: format {document.get('format')} (allowed: {FORMAT})")
    problems = [p for entry in document["files"] if (p := _problem(source, entry))]
    if problems:
        raise RefusedRestore(
            f"backup: {source}: {'; '.join(problems[:5])} (allowed: every file as it was written). "
            "Use another backup"
        )
    return document


def _problem(source: Path, entry: dict[str, Any]) -> str | None:
    name = str(entry["path"])
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        return f"{name}: a path outside the backup"
    path = source / name
    if path.is_symlink() or not path.is_file():
        return f"{name}: missing"
    return None if manifest.sha256_of(path) == entry["sha256"] else f"{name}: changed"


def restore(source: Path, home: Home) -> BackedUp:
    """Everything is checked before a byte is written. Raises RefusedRestore."""
    document = check(source)
    refuse_unless_empty(document["database"])
    there = {p.name for p in home.root.iterdir()} if home.root.is_dir() else set[str]()
    if used := sorted(name for name in there - _MAY_BE_THERE if not name.endswith(".lock")):
        raise RefusedRestore(
            f"ASSAY_HOME: {home.root} holds {', '.join(used[:5])} (allowed: an empty home). Name another"
        )
    home.root.mkdir(parents=True, exist_ok=True)
    for name in FOLDERS:
        if (source / name).is_dir():
            shutil.copytree(source / name, home.root / name, symlinks=True)
    copy_in(source / DATABASE, document["database"])
    files = document["files"]
    return BackedUp(folder=home.root, files=len(files), bytes=sum(f["bytes"] for f in files))
