"""Make room on this machine: let go of copies that the archive holds whole, those read longest ago first."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from assay.archive.checking import stored_digests
from assay.archive.paths import Home
from assay.archive.remote.location import Remote
from assay.archive.remote.sending import holds
from assay.operations.models import Upload


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    copies: int
    bytes: int
    kept_bytes: int


def trim(home: Home, remote: Remote, *, keep_bytes: int) -> Trimmed:
    """Until at most ``keep_bytes`` of bundles lie here. A bundle that lies nowhere else always stays."""
    known = set(
        Upload.objects.filter(archive=remote.url, sent_at__isnull=False).values_list(
            "bundle_id", flat=True
        )
    )
    folders = sorted((home.bundle(d) for d in stored_digests(home)), key=_last_read)
    sizes = {folder: size_of(folder) for folder in folders}
    total, copies, freed = sum(sizes.values()), 0, 0
    for folder in folders:
        if total - freed <= keep_bytes:
            break
        if folder.name in known and holds(remote, folder.name):
            remove_copy(home, folder)
            copies, freed = copies + 1, freed + sizes[folder]
    return Trimmed(copies=copies, bytes=freed, kept_bytes=total - freed)


def remove_copy(home: Home, folder: Path) -> None:
    """Out of its address in one step, so that nobody ever reads half a bundle; then away."""
    home.scratch.mkdir(parents=True, exist_ok=True)
    aside = home.scratch / f"removing-{folder.name}"
    shutil.rmtree(aside, ignore_errors=True)  # of a removal that was cut
    folder.rename(aside)
    shutil.rmtree(aside)


def size_of(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())


def _last_read(folder: Path) -> float:
    return max((p.stat().st_atime for p in folder.iterdir() if p.is_file()), default=0.0)
