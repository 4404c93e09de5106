"""The content-addressed store: a sealed bundle lies under its own digest and is never changed.

``store/<first two>/<digest>/`` holds the bundle's files, read-only. Putting a bundle that is already there
is no error and changes nothing, except that blobs which were withheld before are filled in.
"""

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from assay.archive.errors import DamagedBundle, UnknownBundle
from assay.archive.paths import Home
from assay.archive.quarantine import quarantine
from runners.protocol import layout, manifest

SHORTEST_PREFIX = 6
_READ_ONLY = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    digest: str
    folder: Path
    bytes: int
    files: int
    withheld: tuple[str, ...]
    new: bool


def put(home: Home, folder: Path) -> Stored:
    """Verify a bundle folder and move it into the store.

    Raises DamagedBundle and leaves the folder where it is. A stored copy that was damaged since is moved to
    quarantine, and the sound one takes its place.
    """
    checked = manifest.verify(folder)
    if not checked.ok or checked.bundle_digest is None:
        raise DamagedBundle(str(folder), checked.problems)
    target = home.bundle(checked.bundle_digest)
    _set_aside_if_damaged(home, target)
    _make_read_only(folder)
    new = _move(folder, target)
    if not new:
        _fill_in(folder, target)
        shutil.rmtree(folder)
    kept = manifest.verify(target)
    return Stored(
        digest=checked.bundle_digest,
        folder=target,
        bytes=kept.bytes,
        files=kept.checked,
        withheld=kept.withheld,
        new=new,
    )


def get(home: Home, digest: str) -> Path:
    """The folder of a stored bundle, by its digest or an unambiguous beginning of it."""
    if len(digest) == 64 and home.bundle(digest).is_dir():
        return home.bundle(digest)
    found = matching(home, digest)
    if len(found) != 1:
        seen = f"{digest} ({len(found)} bundles begin with it)" if found else digest
        raise UnknownBundle(seen, remedy="`assay show RUN` prints the digest of a run's bundle")
    return found[0]


def matching(home: Home, prefix: str) -> list[Path]:
    """Folders of all bundles whose digest begins with ``prefix`` (six characters or more)."""
    if len(prefix) < SHORTEST_PREFIX or set(prefix) - set("0123456789abcdef"):
        return []
    shelf = home.store / prefix[:2]
    if not shelf.is_dir():
        return []
    return sorted(p for p in shelf.iterdir() if len(p.name) == 64 and p.name.startswith(prefix))


def _set_aside_if_damaged(home: Home, target: Path) -> None:
    if target.exists() and not (found := manifest.verify(target)).ok:
        quarantine(
            home,
            target,
            name=target.name,
            reason="the stored copy no longer matches its manifest; a sound copy replaced it",
            problems=found.problems,
        )


def _make_read_only(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(_READ_ONLY)


def _move(folder: Path, target: Path) -> bool:
    """True if ``folder`` became ``target``; False if a bundle of that digest was there already."""
    if target.exists():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    source, partial = folder, target.with_name(f"{target.name}.partial-{os.getpid()}")
    if folder.stat().st_dev != target.parent.stat().st_dev:
        # Another file system: copy beside the target first, so that a half copy never bears the digest.
        source = Path(shutil.copytree(folder, partial))
    try:
        source.rename(target)
    except OSError:
        if not target.exists():
            raise
        shutil.rmtree(partial, ignore_errors=True)  # somebody else was first
        return False
    if source == partial:
        shutil.rmtree(folder)
    return True


def _fill_in(folder: Path, target: Path) -> None:
    """Add blobs that the stored copy lacks; both were verified against the same manifest."""
    have = set(manifest.bundle_files(target))
    for name in manifest.bundle_files(folder):
        if name not in have:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(folder / name, target / name)
    listed = {str(e["path"]) for e in manifest.read(target)["files"]}
    if not listed - set(manifest.bundle_files(target)):
        (target / layout.WITHHELD).unlink(missing_ok=True)
