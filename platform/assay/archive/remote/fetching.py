"""Bring a bundle from the archive into the store of this machine, verified before it bears its digest.

The store is the cache that pages read from. A fetch that was cut goes on with the files that are whole; two
that want the same bundle wait for one another.
"""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from assay.archive import store
from assay.archive.errors import ArchiveError, DamagedBundle, UnknownBundle
from assay.archive.paths import Home
from assay.archive.quarantine import quarantine
from assay.archive.remote.location import OutOfReach, Remote, remote_from_environment
from assay.archive.remote.sending import holds
from runners.protocol import manifest

FULL = 64  # hexadecimal digits of a digest


def bundle_folder(home: Home, digest: str) -> Path:
    """The folder of a bundle, fetched if it lies only in the archive. It need not exist afterwards.

    Where the archive does not answer or holds a damaged copy, the bundle is simply not here: whoever asks
    says so, as for any bundle that is not on this machine.
    """
    folder = home.bundle(digest)
    if folder.is_dir() or (remote := remote_from_environment()) is None:
        return folder
    with suppress(ArchiveError):
        fetch(remote, home, digest)
    return folder


def get(home: Home, digest: str) -> Path:
    """As ``store.get``, after a look into the archive for a bundle that is named in full."""
    if len(digest) == FULL:
        bundle_folder(home, digest)
    return store.get(home, digest)


def fetch(remote: Remote, home: Home, digest: str) -> Path:
    """Raises UnknownBundle, OutOfReach, or DamagedBundle (what came lies in quarantine then)."""
    with _alone(home, digest):
        folder = home.bundle(digest)
        if folder.is_dir():
            return folder
        if not holds(remote, digest):
            raise UnknownBundle(digest, remedy=f"{remote.url} does not hold it either")
        scratch = home.scratch / f"fetch-{digest}"
        try:
            _bring_down(remote, digest, scratch)
        except remote.failures as error:
            raise OutOfReach(remote.url, str(error)) from error
        checked = manifest.verify(scratch)
        if not checked.ok or checked.bundle_digest != digest:
            problems = checked.problems or (
                f"manifest.json: its digest is {checked.bundle_digest}",
            )
            reason = f"fetched from {remote.url}: it does not match its manifest"
            quarantine(home, scratch, name=digest, reason=reason, problems=problems)
            raise DamagedBundle(f"{remote.url}: {digest}", problems)
        return store.put(home, scratch).folder


def _bring_down(remote: Remote, digest: str, scratch: Path) -> None:
    root = remote.bundle(digest)
    scratch.mkdir(parents=True, exist_ok=True)
    for key, entry in sorted(remote.files.find(root, detail=True).items()):
        target = scratch / _inside(key.removeprefix(root).lstrip("/"))
        if target.is_file() and target.stat().st_size == int(entry["size"]):
            continue  # of a fetch that was cut; verification compares its bytes
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.partial")
        remote.files.get_file(key, str(partial))
        partial.replace(target)


def _inside(name: str) -> PurePosixPath:
    """An object's name is nobody's word: it may not lead out of the folder."""
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts:
        raise DamagedBundle(name, (f"{name}: a path outside the bundle",))
    return path


@contextmanager
def _alone(home: Home, digest: str) -> Iterator[None]:
    home.scratch.mkdir(parents=True, exist_ok=True)
    with (home.scratch / f"fetch-{digest[:2]}.lock").open(
        "a"
    ) as stream:  # stays: others wait on it
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def forget(remote: Remote, digest: str) -> int:
    """Take a bundle out of the archive, what says that it is whole first; the bytes that went.

    Raises OutOfReach. Safe to call again after it was cut.
    """
    try:
        if remote.files.exists(remote.marker(digest)):
            remote.files.rm_file(remote.marker(digest))
        found = remote.files.find(remote.bundle(digest), detail=True)
        for key in found:
            remote.files.rm_file(key)
        if remote.is_folder:
            shutil.rmtree(remote.bundle(digest), ignore_errors=True)
    except FileNotFoundError:
        return 0
    except remote.failures as error:
        raise OutOfReach(remote.url, str(error)) from error
    return sum(int(entry["size"]) for entry in found.values())


def digests(remote: Remote) -> Iterator[tuple[str, bool]]:
    """Every bundle there, and whether it is whole. Raises OutOfReach."""
    try:
        for shelf in remote.files.ls(remote.root, detail=False):
            for folder in remote.files.ls(shelf, detail=False):
                digest = folder.rstrip("/").rsplit("/", 1)[-1]
                if len(digest) == 64:
                    yield digest, bool(remote.files.exists(remote.marker(digest)))
    except FileNotFoundError:
        return
    except remote.failures as error:
        raise OutOfReach(remote.url, str(error)) from error
