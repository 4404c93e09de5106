"""Three places where a conversation may be remembered, each shown by evidence of its own or not at all.

A server that keeps a session saves history, not recomputation; a prefix cache saves recomputation and keeps
no session; a cache service outside the engine is neither. Evidence of one is none of another.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypedDict

from assay.analysis.columns import number
from assay.analysis.errors import ClaimRefused
from assay.analysis.wire.attempt import Attempt


class Layer(StrEnum):
    protocol_session = "protocol session"
    prefix_cache = "engine prefix cache"
    external_cache = "external cache service"


class LayerReading(TypedDict):
    """``declared``: the declaration says that it is in use. ``evidence`` is null where nothing shows it."""

    layer: str
    declared: bool
    evidence: str | None
    absent: str | None


def memory_layers(
    attempts: Sequence[Attempt], *, context_location: str | None
) -> list[LayerReading]:
    """The three layers in a fixed order. ``context_location`` as the workload declares it."""
    return [
        LayerReading(
            layer=Layer.protocol_session.value,
            declared=context_location == "server_session",
            evidence=None,
            absent="no observation point sees what the server keeps between requests",
        ),
        _prefix_cache(attempts, declared=context_location == "kv_reuse"),
        LayerReading(
            layer=Layer.external_cache.value,
            declared=False,
            evidence=None,
            absent="no observation point sees a cache outside the engine",
        ),
    ]


def _prefix_cache(attempts: Sequence[Attempt], *, declared: bool) -> LayerReading:
    counts, told = number(attempts, "reply.cached_tokens")
    known = counts[told].tolist()
    hits = sum(n > 0 for n in known)
    absent = None
    if not known:
        absent = "no reply says how many prompt tokens were cached"
    elif not hits:
        absent = f"none of {len(known)} replies that say so had a cached prompt token"
    return LayerReading(
        layer=Layer.prefix_cache.value,
        declared=declared,
        evidence=f"cached prompt tokens in {hits} of {len(known)} replies that say so, {sum(known)} in all"
        if hits
        else None,
        absent=absent,
    )


def reuse_shown(readings: Sequence[LayerReading], layer: Layer) -> str:
    """The evidence that this layer was used. Refused where only another layer has evidence, or none."""
    own = next(r for r in readings if r["layer"] == layer)
    if own["evidence"] is None:
        others = [r["layer"] for r in readings if r["evidence"] is not None]
        raise ClaimRefused(
            field="reuse",
            seen=f"{layer}: {own['absent']}"
            + (f"; evidence is of the {', '.join(others)} alone" if others else ""),
            allowed="evidence of the layer that is named",
            remedy="Observe that layer, or name the one that was seen.",
        )
    return own["evidence"]
