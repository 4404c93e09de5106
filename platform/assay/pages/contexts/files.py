"""The files of a bundle with digest, size and class, from its manifest."""

import json
from dataclasses import dataclass
from pathlib import Path

from assay.pages.contexts.head import RunHead
from runners.protocol import layout


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """``withheld`` is the reason when the blob was left out of this copy."""

    path: str
    file_class: str
    bytes: int
    sha256: str
    present: bool
    withheld: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesPage:
    files: list[FileRow]
    total_bytes: int
    folder: str
    signed_by: str


def files_page(head: RunHead) -> FilesPage | None:
    """None when there is no bundle, or its folder is not on this machine."""
    folder = head.folder
    manifest = folder.manifest() if folder else None
    if folder is None or manifest is None:
        return None
    withheld = _withheld(folder.folder)
    rows = [
        FileRow(
            path=entry["path"],
            file_class=entry["class"],
            bytes=entry["bytes"],
            sha256=entry["sha256"],
            present=folder.file(entry["path"]) is not None,
            withheld=withheld.get(entry["path"], ""),
        )
        for entry in manifest["files"]
    ]
    return FilesPage(
        files=rows,
        total_bytes=sum(row.bytes for row in rows),
        folder=str(folder.folder),
        signed_by=str((manifest.get("signature") or {}).get("by", "")),
    )


def listed(head: RunHead, path: str) -> Path | None:
    """A file that the manifest names and that is here; anything else is no file of the bundle."""
    page = head.folder.manifest() if head.folder else None
    if page is None or head.folder is None:
        return None
    own = {layout.MANIFEST, layout.MANIFEST_DIGEST}
    named = own | {entry["path"] for entry in page["files"]}
    return head.folder.file(path) if path in named else None


def _withheld(folder: Path) -> dict[str, str]:
    path = folder / layout.WITHHELD
    if not path.is_file():
        return {}
    listed_blobs = json.loads(path.read_bytes()).get("withheld", [])
    return {entry["path"]: entry.get("reason", "withheld") for entry in listed_blobs}
