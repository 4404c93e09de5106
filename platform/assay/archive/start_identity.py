"""What a start was, for telling whether two starts may stand in one series: declared, and as it ran.

Only what is known to key enters: fields that the declaration leaves unknown are covered by what ran (the
verified artifact, the packages of the engine's environment). Readings never enter.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.analysis.comparability.facts import packages_of
from experiments.schema.fields import leaves
from experiments.schema.roles import Role
from runners.protocol import layout

NONE = "none"  # declared as nothing, which is known, unlike null
ENGINE, VERSION = "engine", "engine.version"
HOST, ARTIFACT, PACKAGES = "ran.host", "ran.artifact", "ran.engine_packages"
MOVE_WITH_VERSION = frozenset(
    {"engine.environment.lock_sha256", "engine.environment.image_digest", PACKAGES}
)


def start_identity(
    bundle: Path, spec: Mapping[str, Any], *, variable: str | None
) -> dict[str, Any]:
    """Fields with their values; null where the bundle does not say. ``variable`` and below are left out.

    Where the variable is the engine's version, its pins and its packages move with it.
    """
    declared = {
        leaf.path: NONE if leaf.value is None else leaf.value
        for leaf in leaves(spec)
        if leaf.role is not Role.context and not (leaf.value is None and leaf.null_unknown)
    }
    ran = {
        HOST: (_document(bundle, layout.HOST) or {}).get("fingerprint"),
        ARTIFACT: ((_document(bundle, layout.IDENTITY) or {}).get("artifact") or {}).get("digest"),
        PACKAGES: _engine_packages(_document(bundle, layout.PACKAGES) or {}),
    }
    found = {**declared, **ran}
    if variable in (ENGINE, VERSION):
        found = {path: value for path, value in found.items() if path not in MOVE_WITH_VERSION}
    return {path: value for path, value in found.items() if not _is_below(path, variable)}


def _engine_packages(packages: Mapping[str, Any]) -> str | None:
    """The hash of the engine's environment, where it has one of its own; else of the client's."""
    found = packages_of(packages, "engine") or packages_of(packages, "client") or {}
    known: str | None = found.get("sha256") or found.get("reason")
    return known


def _is_below(path: str, variable: str | None) -> bool:
    return variable is not None and (path == variable or path.startswith(f"{variable}."))


def _document(bundle: Path, name: str) -> dict[str, Any] | None:
    try:
        found = json.loads((bundle / name).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
