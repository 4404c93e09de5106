"""What the disk alone can say of a store: every file of every bundle, and everything that is none.

Reads only. Whether the index knows what lies here is asked elsewhere, where there is a database.
"""

from collections.abc import Iterator
from pathlib import Path

from assay.archive.faults import Fault, FaultKind
from assay.archive.paths import Home
from runners.protocol import manifest

_DIGEST_CHARACTERS = frozenset("0123456789abcdef")
_OF_PROBLEM = {
    "missing": FaultKind.missing_file,
    "changed": FaultKind.altered_file,
    "extra": FaultKind.unlisted_file,
    "unreadable": FaultKind.unreadable_manifest,
}


def is_digest(name: str) -> bool:
    return len(name) == 64 and set(name) <= _DIGEST_CHARACTERS


def stored_digests(home: Home) -> Iterator[str]:
    """Every bundle that lies under its digest, sorted."""
    for shelf in _folders(home.store):
        yield from (
            f.name for f in _folders(shelf) if home.bundle(f.name) == f and is_digest(f.name)
        )


def check_store(home: Home) -> Iterator[Fault]:
    """Everything in the store that is no bundle, and every bundle that is not as it was sealed."""
    for shelf in _entries(home.store):
        if not shelf.is_dir() or shelf.is_symlink():
            yield _stray(shelf)
            continue
        for entry in _entries(shelf):
            yield from _check_entry(home, entry)


def _check_entry(home: Home, entry: Path) -> Iterator[Fault]:
    if ".partial-" in entry.name:
        yield Fault(kind=FaultKind.half_stored, subject=entry.name[:64], where=str(entry))
    elif not entry.is_dir() or entry.is_symlink() or not is_digest(entry.name):
        yield _stray(entry)
    elif home.bundle(entry.name) != entry:
        detail = f"it belongs on shelf {entry.name[:2]}"
        yield Fault(
            kind=FaultKind.wrong_address, subject=entry.name, where=str(entry), detail=detail
        )
    else:
        yield from check_bundle(entry)


def check_bundle(folder: Path) -> Iterator[Fault]:
    """A bundle against its manifest, and its manifest against the digest it lies under."""
    checked = manifest.verify(folder)
    for problem in checked.problems:
        path, _, detail = problem.partition(": ")
        yield Fault(
            kind=_OF_PROBLEM.get(detail.split(" ")[0], FaultKind.altered_file),
            subject=folder.name,
            where=f"{folder}/{path}",
            detail=detail,
        )
    if checked.bundle_digest not in {None, folder.name}:
        detail = f"its manifest's digest is {checked.bundle_digest}"
        yield Fault(
            kind=FaultKind.wrong_address, subject=folder.name, where=str(folder), detail=detail
        )


def stored_readings(home: Home) -> Iterator[tuple[str, str]]:
    """Digest and definition version of every reading that lies in ``derived``."""
    for of_bundle in _folders(home.derived):
        yield from (
            (of_bundle.name, reading.name)
            for reading in _folders(of_bundle)
            if not reading.name.startswith(".")
        )


def check_readings(home: Home) -> Iterator[Fault]:
    """What a reading that was cut left behind."""
    for of_bundle in _folders(home.derived):
        for entry in _entries(of_bundle):
            if entry.name.startswith("."):
                yield Fault(kind=FaultKind.half_read, subject=of_bundle.name, where=str(entry))


def _folders(folder: Path) -> list[Path]:
    return [p for p in _entries(folder) if p.is_dir() and not p.is_symlink()]


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _stray(path: Path) -> Fault:
    return Fault(kind=FaultKind.stray, subject=path.name, where=str(path))
