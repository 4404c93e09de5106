"""A declared input file: below an allowed root, plain, of a bearable size, and the very bytes pinned."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from runners.protocol.errors import EnvironmentLacks, Finding, Refused

MAX_FILE_BYTES = 2**30


def pinned(path: str, sha256: str, *, roots: Sequence[Path], field: str) -> Path:
    """The file itself, links resolved. A relative path is looked for below each root in turn.

    ``field`` is the place of ``path`` and ``sha256`` in the declaration. Raises Refused for a file elsewhere,
    too large or with other bytes, EnvironmentLacks where there is none.
    """
    real = _found(Path(path), roots, field)
    if not any(real.is_relative_to(root.resolve()) for root in roots):
        raise _refused(
            f"{field}.path",
            path,
            f"a file below an allowed root ({', '.join(map(str, roots)) or 'none configured'})",
            "Move it there, or allow its root in the settings (ASSAY_ARTIFACT_ROOTS).",
        )
    if (size := real.stat().st_size) > MAX_FILE_BYTES:
        raise _refused(f"{field}.path", f"{size} bytes", f"at most {MAX_FILE_BYTES}", "Cut it.")
    with real.open("rb") as stream:
        seen = hashlib.file_digest(stream, "sha256").hexdigest()
    if seen != sha256:
        raise _refused(
            f"{field}.sha256",
            f"{real.name} has {seen}",
            sha256,
            "Give the pinned file, or pin this one.",
        )
    return real


def _found(path: Path, roots: Sequence[Path], field: str) -> Path:
    places = [path] if path.is_absolute() else [root / path for root in roots]
    for place in places:
        # A file outside the roots is not looked at: whether it exists is nobody's business here.
        real = place.resolve()
        if not any(real.is_relative_to(root.resolve()) for root in roots) or real.is_file():
            return real
    raise EnvironmentLacks(
        Finding(
            field=f"{field}.path",
            seen=f"{path} is not there",
            allowed="the pinned file, below " + (", ".join(map(str, roots)) or "an allowed root"),
            remedy="Put the file there, or allow its root in the settings (ASSAY_ARTIFACT_ROOTS).",
        )
    )


def _refused(field: str, seen: str, allowed: str, remedy: str) -> Refused:
    return Refused(Finding(field=field, seen=seen, allowed=allowed, remedy=remedy))
