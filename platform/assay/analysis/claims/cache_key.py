"""When something kept from one request may serve another: only under the very same key.

A key holds everything that changes what the kept state means. A part that is not known is no match.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.analysis.errors import ClaimRefused
from experiments.identity import canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """``configuration`` is the sha256 over the engine's pin, settings, parallel layout and precision."""

    model_revision: str | None
    template: str | None
    configuration: str | None


def cache_key(spec: Mapping[str, Any]) -> CacheKey:
    """The key of what an engine of this declaration keeps between requests."""
    artifact, engine = spec["artifact"], spec["engine"]
    template = artifact.get("chat_template") or {}
    parts = {
        "engine": {name: engine.get(name) for name in ("key", "version", "settings", "parallel")},
        "precision": artifact.get("precision"),
    }
    return CacheKey(
        model_revision=artifact.get("revision") or None,
        template=template.get("sha256") or None,
        configuration=hashlib.sha256(canonical(parts)).hexdigest(),
    )


def check_reuse(kept: CacheKey, wanted: CacheKey) -> None:
    """Raises ClaimRefused where anything in the key changed or is not known."""
    was, now = asdict(kept), asdict(wanted)
    changed = [name for name in was if was[name] is None or was[name] != now[name]]
    if not changed:
        return
    seen = ", ".join(f"{n}: {_shown(was[n])} then, {_shown(now[n])} now" for n in changed)
    raise ClaimRefused(
        field=f"cache.{changed[0]}",
        seen=seen,
        allowed="the same model revision, template and configuration",
        remedy="Flush the cache, or start the engine afresh.",
    )


def _shown(value: str | None) -> str:
    return "unknown" if value is None else value[:24]
