"""Build and check the manifest of a bundle folder.

The manifest is canonical JSON (RFC 8785); ``manifest.sha256`` holds the sha256 of its bytes, which is the
bundle digest. Verification compares raw bytes and names changed, missing and extra files. A blob of a
withholdable class may be absent if ``withheld.json``, which lies outside the digest, lists it: the manifest
still pins its digest, so nothing else can take its place.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.protocol import layout
from runners.protocol.canonical_json import canonical as canonical

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


def bundle_files(folder: Path) -> list[str]:
    """Every file of the bundle except the manifest's own two and ``withheld.json``, sorted by path."""
    own = {layout.MANIFEST, layout.MANIFEST_DIGEST, layout.WITHHELD}
    found = (
        p.relative_to(folder).as_posix()
        for p in folder.rglob("*")
        if p.is_symlink() or not p.is_dir()
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


def withhold(folder: Path, *, classes: frozenset[layout.FileClass], reason: str) -> list[str]:
    """Remove the blobs of ``classes`` from a copy of a bundle and say so in ``withheld.json``.

    The manifest stays as it is, so the bundle digest does not change. Returns the paths left out.
    Raises ValueError for a class that a bundle cannot do without.
    """
    if refused := classes - layout.WITHHOLDABLE:
        allowed = ", ".join(sorted(layout.WITHHOLDABLE))
        raise ValueError(f"class {', '.join(sorted(refused))} cannot be withheld (only {allowed})")
    entries = [e for e in read(folder)["files"] if e["class"] in classes]
    listed = [{**e, "reason": reason} for e in entries]
    for entry in entries:
        (folder / entry["path"]).unlink(missing_ok=True)
    (folder / layout.WITHHELD).write_bytes(canonical({"withheld": listed}))
    return [str(e["path"]) for e in entries]


def verify(folder: Path) -> Verification:
    """Compare every byte of a bundle folder with its manifest. Reads nothing outside ``folder``."""
    problems: list[str] = []
    try:
        body = (folder / layout.MANIFEST).read_bytes()
        stated = (folder / layout.MANIFEST_DIGEST).read_bytes().decode("ascii")
        manifest = json.loads(body)
        entries = {str(e["path"]): _Entry.parse(e) for e in manifest["files"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Verification(
            bundle_digest=None,
            checked=0,
            bytes=0,
            problems=(f"{layout.MANIFEST}: unreadable ({error})",),
            withheld=(),
        )
    actual = hashlib.sha256(body).hexdigest()
    if actual != stated.strip():
        problems.append(
            f"{layout.MANIFEST}: changed (sha256 {actual}, "
            f"{layout.MANIFEST_DIGEST} says {stated.strip()})"
        )
    elif stated != f"{actual}\n":
        problems.append(f"{layout.MANIFEST_DIGEST}: changed (more than the digest and a line end)")
    present = set(bundle_files(folder))
    listed = _withheld_paths(folder, problems)
    absent = tuple(sorted(listed & set(entries) - present))
    total = 0
    for path, entry in sorted(entries.items()):
        problem, size = _check(folder, path, entry, present=present, listed=listed)
        total += size
        if problem:
            problems.append(problem)
    problems.extend(
        f"{path}: extra (not in the manifest)" for path in sorted(present - set(entries))
    )
    problems.extend(
        f"{path}: listed in {layout.WITHHELD} but not in the manifest"
        for path in sorted(listed - set(entries))
    )
    return Verification(
        bundle_digest=actual,
        checked=len(entries),
        bytes=total,
        problems=tuple(problems),
        withheld=absent,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    bytes: int
    sha256: str
    file_class: str

    @classmethod
    def parse(cls, entry: dict[str, Any]) -> "_Entry":
        return cls(
            bytes=int(entry["bytes"]),
            sha256=str(entry["sha256"]),
            file_class=str(entry.get("class", "")),
        )


def _withheld_paths(folder: Path, problems: list[str]) -> set[str]:
    path = folder / layout.WITHHELD
    if path.is_symlink() or not path.exists():
        return set()
    try:
        return {str(e["path"]) for e in json.loads(path.read_bytes())["withheld"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        problems.append(f"{layout.WITHHELD}: unreadable ({error})")
        return set()


def _check(
    folder: Path, path: str, entry: _Entry, *, present: set[str], listed: set[str]
) -> tuple[str | None, int]:
    if path.startswith("/") or ".." in path.split("/"):
        return f"{path}: a path outside the bundle", 0
    if path not in present:
        if path not in listed:
            return f"{path}: missing", 0
        if entry.file_class not in layout.WITHHOLDABLE:
            return f"{path}: missing (a file of class {entry.file_class} cannot be withheld)", 0
        return None, 0
    target = folder / path
    if target.is_symlink() or not target.is_file():
        return f"{path}: a link or special file, not a file", 0
    digest, size = sha256_of(target), target.stat().st_size
    if digest != entry.sha256 or size != entry.bytes:
        return f"{path}: changed (sha256 {digest}, manifest says {entry.sha256})", size
    return None, size
