"""Which versions of an engine this machine has, and how a declaration pins each of them.

Environments and images lie below ``ASSAY_HOME/engines`` with a note of their own; the torch engine may run in
Assay's own environment, where its version is that of the installed distribution.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from assay.archive.paths import Home

_ENVIRONMENT, _IMAGE = "environment.json", "image.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledVersion:
    """``overrides`` pin this very installation, on top of a declaration of the engine."""

    version: str
    environment: str  # its name, such as vllm-0.33.0-cpu
    overrides: tuple[str, ...]


def installed_versions(
    home: Home, declared: Mapping[str, Any], offered: Iterable[tuple[str, Mapping[str, Any]]] = ()
) -> list[InstalledVersion]:
    """Of the engine that ``declared`` (a spec's ``engine``) names, in environments of its kind and variant.

    ``offered`` are notes of the same form, with their kind, that workers elsewhere gave of theirs.
    """
    environment = declared.get("environment") or {}  # an imported run may say none
    kind, key = str(environment.get("kind", "platform")), declared["key"]
    elsewhere = [n for k, n in offered if k == kind and n["pin"]["key"] == key]
    if kind == "platform":
        versions = [_of_platform(n["pin"]["version"]) for n in elsewhere]
        return [*_here(str(key)), *versions]
    name = _ENVIRONMENT if kind == "venv" else _IMAGE
    notes = [(f.name, note) for f, note in _notes(home, name) if note["pin"]["key"] == key]
    notes += [(f"{key}-{n['pin']['version']}", dict(n)) for n in elsewhere if n.get("lock_sha256")]
    pin = environment.get("lock_sha256")
    variants = {n["pin"]["variant"] for _, n in notes if pin and n.get("lock_sha256") == pin}
    return [
        _installed(folder, note)
        for folder, note in notes
        if kind != "venv" or not variants or note["pin"]["variant"] in variants
    ]


def _here(engine: str) -> list[InstalledVersion]:
    try:
        return [_of_platform(metadata.version(engine).partition("+")[0])]
    except metadata.PackageNotFoundError:
        return []


def _of_platform(version: str) -> InstalledVersion:
    return InstalledVersion(
        version=version, environment="platform", overrides=(f"engine.version={version}",)
    )


def _installed(folder: str, note: Mapping[str, Any]) -> InstalledVersion:
    version = str(note["pin"]["version"])
    if lock := note.get("lock_sha256"):
        pin: tuple[str, ...] = (f"engine.environment.lock_sha256={lock}",)
    else:
        image, _, digest = str(note["reference"]).partition("@")
        pin = (f"engine.environment.image={image}", f"engine.environment.image_digest={digest}")
    return InstalledVersion(
        version=version, environment=folder, overrides=(f"engine.version={version}", *pin)
    )


def _notes(home: Home, name: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Readable notes of whole installations; one that is being made has a dot before its name."""
    for folder in sorted(home.engines.glob("[!.]*")):
        try:
            note = json.loads((folder / name).read_bytes())
            known = {"key", "version", "variant"} <= set(note["pin"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if known and (note.get("lock_sha256") or note.get("reference")):
            yield folder, note
