"""Build and check the manifest of a bundle folder.

The manifest is canonical JSON (RFC 8785); ``manifest.sha256`` holds the sha256 of its bytes, which is the
bundle digest. Verification compares raw bytes and names changed, missing and extra files.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rfc8785

from runners.protocol import layout

_BLOCK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The outcome of comparing a folder with its manifest; ``problems`` name files with what is wrong."""

    bundle_digest: str | None
    checked: int
    bytes: int
    problems: tuple[str, ...]
    withheld: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def canonical(document: Any) -> bytes:
    """Canonical JSON bytes (RFC 8785). NaN and infinities are refused by the serializer."""
    return rfc8785.dumps(document)


def bundle_files(folder: Path) -> list[str]:
    """Every file of the bundle except the manifest's own two, sorted by path."""
    own = {layout.MANIFEST, layout.MANIFEST_DIGEST}
    found = (
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() or p.is_symlink()
    )
    return sorted(set(found) - own)


def build(folder: Path, *, header: dict[str, Any]) -> str:
    """Write ``manifest.json`` and ``manifest.sha256``; ``header`` joins run, execution, state and digests.

    Returns the bundle digest (lower-case hex sha256).
    """
    files = [
        {
            "path": name,
            "bytes": (folder / name).stat().st_size,
            "sha256": sha256_of(folder / name),
            "class": layout.file_class(name).value,
        }
        for name in bundle_files(folder)
    ]
    body = canonical(
        {"format": layout.FORMAT_VERSION, "kind": "assay-bundle", **header, "files": files}
    )
    digest = hashlib.sha256(body).hexdigest()
    (folder / layout.MANIFEST).write_bytes(body)
    (folder / layout.MANIFEST_DIGEST).write_text(digest + "\n", encoding="ascii")
    return digest


def read(folder: Path) -> dict[str, Any]:
    document = json.loads((folder / layout.MANIFEST).read_bytes())
    if not isinstance(document, dict):
        raise ValueError("manifest.json is not an object")
    return document


def verify(folder: Path) -> Verification:
    """Compare every byte of a bundle folder with its manifest. Reads nothing outside ``folder``."""
    problems: list[str] = []
    try:
        body = (folder / layout.MANIFEST).read_bytes()
        stated = (folder / layout.MANIFEST_DIGEST).read_text(encoding="ascii").strip()
        manifest = json.loads(body)
        entries = {str(e["path"]): e for e in manifest["files"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Verification(
            bundle_digest=None,
            checked=0,
            bytes=0,
            problems=(f"{layout.MANIFEST}: unreadable ({error})",),
            withheld=(),
        )
    actual = hashlib.sha256(body).hexdigest()
    if actual != stated:
        problems.append(
            f"{layout.MANIFEST}: changed (sha256 {actual}, {layout.MANIFEST_DIGEST} says {stated})"
        )
    present = set(bundle_files(folder))
    withheld = tuple(sorted(p for p, e in entries.items() if e.get("withheld")))
    total = 0
    for path, entry in sorted(entries.items()):
        problem, size = _check(folder, path, entry, present)
        total += size
        if problem:
            problems.append(problem)
    problems.extend(
        f"{path}: extra (not in the manifest)" for path in sorted(present - set(entries))
    )
    return Verification(
        bundle_digest=actual,
        checked=len(entries),
        bytes=total,
        problems=tuple(problems),
        withheld=withheld,
    )


def _check(
    folder: Path, path: str, entry: dict[str, Any], present: set[str]
) -> tuple[str | None, int]:
    if path.startswith("/") or ".." in path.split("/"):
        return f"{path}: a path outside the bundle", 0
    if path not in present:
        return (None if entry.get("withheld") else f"{path}: missing"), 0
    target = folder / path
    if target.is_symlink():
        return f"{path}: a symbolic link, not a file", 0
    digest, size = sha256_of(target), target.stat().st_size
    if digest != entry["sha256"] or size != entry["bytes"]:
        return f"{path}: changed (sha256 {digest}, manifest says {entry['sha256']})", size
    return None, size
