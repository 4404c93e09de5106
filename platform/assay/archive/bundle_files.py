"""The files of a stored bundle as its manifest lists them. What it does not list is no file of the bundle."""

import json
from dataclasses import dataclass
from pathlib import Path

from runners.protocol import layout, manifest

OWN = (layout.MANIFEST, layout.MANIFEST_DIGEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFile:
    """``withheld`` is the reason when the blob was left out of this copy."""

    path: str
    file_class: str
    bytes: int
    sha256: str
    present: bool
    withheld: str | None


def listed_files(folder: Path) -> list[ListedFile]:
    """Empty when the bundle is not on this machine."""
    if not (folder / layout.MANIFEST).is_file():
        return []
    reasons = _withheld(folder)
    return [
        ListedFile(
            path=str(entry["path"]),
            file_class=str(entry["class"]),
            bytes=int(entry["bytes"]),
            sha256=str(entry["sha256"]),
            present=_inside(folder, str(entry["path"])) is not None,
            withheld=reasons.get(str(entry["path"])),
        )
        for entry in manifest.read(folder)["files"]
    ]


def listed_file(folder: Path, path: str) -> Path | None:
    """A file that the manifest names, or the manifest itself, if it is here."""
    if not (folder / layout.MANIFEST).is_file():
        return None
    named = {*OWN, *(str(entry["path"]) for entry in manifest.read(folder)["files"])}
    return _inside(folder, path) if path in named else None


def _inside(folder: Path, path: str) -> Path | None:
    root = folder.resolve()
    found = (root / path).resolve()
    return found if found.is_relative_to(root) and found.is_file() else None


def _withheld(folder: Path) -> dict[str, str]:
    path = folder / layout.WITHHELD
    if not path.is_file():
        return {}
    listed = json.loads(path.read_bytes()).get("withheld", [])
    return {str(entry["path"]): str(entry.get("reason", "withheld")) for entry in listed}
