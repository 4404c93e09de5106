"""One bundle as one file: a zip whose bytes depend on the bundle alone.

Members lie in sorted order with a fixed date and mode. Parquet is stored (it is compressed already), the rest
deflated. ``manifest.json`` comes first, so that a reader knows what to expect before it reads on. What was
said of the bundle afterwards may lie beside it, in ``beside/`` with a digest each; it is no part of it.
"""

import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.archive.errors import DamagedBundle
from runners.protocol import layout, manifest

SUFFIX = ".assay.zip"
CONTENT_CLASSES = frozenset({layout.FileClass.content, layout.FileClass.wire})
BESIDE = "beside/"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can hold
_FIRST = (layout.MANIFEST, layout.MANIFEST_DIGEST, layout.WITHHELD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    file: Path
    bundle_digest: str
    bytes: int
    withheld: tuple[str, ...]


def export_bundle(
    folder: Path, file: Path, *, beside: Mapping[str, bytes] | None = None
) -> Exported:
    """Write a stored bundle to ``file`` after verifying it. Raises DamagedBundle, FileExistsError.

    ``beside``: names and bytes of what goes along without being part of the bundle.
    """
    checked = manifest.verify(folder)
    if not checked.ok or checked.bundle_digest is None:
        raise DamagedBundle(str(folder), checked.problems)
    partial = file.with_name(f".{file.name}.partial")
    if file.exists():
        raise FileExistsError(file)
    try:
        _write(folder, partial, beside or {})
        partial.rename(file)
    finally:
        partial.unlink(missing_ok=True)
    return Exported(
        file=file,
        bundle_digest=checked.bundle_digest,
        bytes=file.stat().st_size,
        withheld=checked.withheld,
    )


def export_without_content(
    folder: Path, file: Path, *, scratch: Path, beside: Mapping[str, bytes] | None = None
) -> Exported:
    """The same without prompts, answers and wire bytes; the manifest still pins them, listed as withheld."""
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as temporary:
        copy = Path(temporary) / "bundle"
        shutil.copytree(folder, copy)
        manifest.withhold(copy, classes=CONTENT_CLASSES, reason="exported without content")
        return export_bundle(copy, file, beside=beside)


def _write(folder: Path, file: Path, beside: Mapping[str, bytes]) -> None:
    names = [n for n in _FIRST if (folder / n).exists()] + manifest.bundle_files(folder)
    with zipfile.ZipFile(file, "w", strict_timestamps=True) as archive:
        for name in names:
            with (
                (folder / name).open("rb") as source,
                archive.open(_member(name), "w") as target,
            ):
                shutil.copyfileobj(source, target, 2**20)
        for name, content in sorted(beside.items()):
            digest = hashlib.sha256(content).hexdigest()
            archive.writestr(_member(f"{BESIDE}{name}"), content)
            archive.writestr(_member(f"{BESIDE}{name}.sha256"), digest)


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, date_time=_EPOCH)
    stored = name.endswith(".parquet")
    member.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    member.external_attr = 0o100444 << 16
    member.create_system = 3  # Unix, on whatever system this runs
    return member
