"""Bring a stored bundle to the archive: each file resumed, read back and compared, the digest's file last.

A bundle that is there is not sent again; a file that is there is compared and not sent again. What was cut is
found by reading it back, taken away and sent anew, a few times.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.archive.errors import ArchiveError, DamagedBundle
from assay.archive.remote.location import OutOfReach, Remote
from assay.archive.remote.resuming import send_file
from runners.protocol import layout, manifest

TRIES = 4
_BLOCK = 2**20
logger = logging.getLogger(__name__)


class NotSent(ArchiveError):
    """A file that did not arrive as it was sent, after every try."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(
            f"{key}: {problem} (allowed: the bytes that were sent). Nothing local was changed; "
            "`assay archive push` goes on where this stopped"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """``bytes_sent`` counts what went over the line, retries too; ``new`` is false for what was there."""

    digest: str
    files: int
    bytes_sent: int
    new: bool


def holds(remote: Remote, digest: str) -> bool:
    """True if the bundle is whole there. Raises OutOfReach."""
    try:
        return bool(remote.files.exists(remote.marker(digest)))
    except remote.failures as error:
        raise OutOfReach(remote.url, _words(error)) from error


def send(remote: Remote, folder: Path, *, pause: Callable[[float], None] = time.sleep) -> Sent:
    """Raises DamagedBundle before anything is sent, NotSent or OutOfReach after every try."""
    checked = manifest.verify(folder)
    if not checked.ok or checked.bundle_digest is None:
        raise DamagedBundle(str(folder), checked.problems)
    digest = checked.bundle_digest
    was_whole = holds(remote, digest)
    files = _in_order(folder)
    vouched = _sizes(remote, digest) if was_whole else {}
    sent = _bring_all(remote, folder, digest, files, vouched=vouched, pause=pause)
    marker = remote.marker(digest)
    if not was_whole:
        source = folder / layout.MANIFEST_DIGEST
        sent += _bring(remote, source, marker, sha256=manifest.sha256_of(source), pause=pause)
    return Sent(digest=digest, files=len(files) + 1, bytes_sent=sent, new=not was_whole)


def _bring_all(
    remote: Remote,
    folder: Path,
    digest: str,
    files: Mapping[str, str],
    *,
    vouched: Mapping[str, int],
    pause: Callable[[float], None],
) -> int:
    """Everything but the file that says so; then all is looked at again: a store may lose what it took."""
    sizes = {name: (folder / name).stat().st_size for name in files}
    wanted = [n for n in files if n == layout.WITHHELD or vouched.get(n) != sizes[n]]
    sent = 0
    for _ in range(TRIES):
        for name in wanted:
            key = f"{remote.bundle(digest)}/{name}"
            sent += _bring(remote, folder / name, key, sha256=files[name], pause=pause)
        there = _sizes(remote, digest)
        if layout.WITHHELD in there and layout.WITHHELD not in files:
            remote.files.rm_file(f"{remote.bundle(digest)}/{layout.WITHHELD}")  # filled in since
        wanted = [n for n in files if there.get(n) != sizes[n]]
        if not wanted:
            return sent
    raise NotSent(f"{remote.bundle(digest)}/{wanted[0]}", "the archive lost it again and again")


def _in_order(folder: Path) -> dict[str, str]:
    """The sha256 of each file by name, the manifest last; what says that all is there is not among them."""
    names = [*manifest.bundle_files(folder), layout.WITHHELD, layout.MANIFEST]
    return {n: manifest.sha256_of(folder / n) for n in names if (folder / n).is_file()}


def _bring(
    remote: Remote, source: Path, key: str, *, sha256: str, pause: Callable[[float], None]
) -> int:
    sent, problem = 0, ""
    for number in range(TRIES):
        if number:
            logger.warning("sending %s again: %s", key, problem)
            pause(min(0.5 * 4**number, 20.0))
        try:
            if remote_digest(remote, key) == sha256:
                return sent
            sent += send_file(remote, source, key, sha256=sha256)
            if (found := remote_digest(remote, key)) == sha256:
                return sent
            problem = f"it arrived as sha256 {found}"
            remote.files.rm_file(key)
        except Exception as error:  # noqa: BLE001 - each client library has its own; all mean: not there yet
            problem = _words(error)
    raise NotSent(key, problem)


def remote_digest(remote: Remote, key: str) -> str | None:
    """The sha256 of what lies there, by reading it; None if nothing does."""
    digest = hashlib.sha256()
    try:
        with remote.files.open(key, "rb", block_size=4 * _BLOCK, cache_type="readahead") as stream:
            while block := stream.read(4 * _BLOCK):
                digest.update(block)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def _sizes(remote: Remote, digest: str) -> dict[str, int]:
    root = remote.bundle(digest)
    try:
        found = remote.files.find(root, detail=True)
    except FileNotFoundError:
        return {}
    return {_below(key, root): int(entry["size"]) for key, entry in found.items()}


def _below(key: str, root: str) -> str:
    return key.removeprefix(root).lstrip("/")


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
