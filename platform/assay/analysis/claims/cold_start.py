"""The cold start of one engine process, split by source, as far as the engine times it itself.

Some parts lie inside another (an engine's initialisation holds its compilation): what remains of the outer
one is its own. What no part explains is shown as such. Caches are empty after every start; what that costs
shows in the first requests, not here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class StartSource(StrEnum):
    load = "weight loading"
    compile = "compilation"
    capture = "graph capture"
    warm_up = "warm-up"
    state = "cache allocation"
    other = "other"


# What engines call the parts of their start. Parts of an outer one are taken off it.
_SOURCES: Mapping[str, StartSource] = {
    "model": StartSource.load,
    "weights": StartSource.load,
    "weights_s": StartSource.load,
    "compilation": StartSource.compile,
    "capture": StartSource.capture,
    "KV cache": StartSource.state,
    "kv_allocation_s": StartSource.state,
    "warm_up_s": StartSource.warm_up,
    "profile, KV cache and warm-up": StartSource.warm_up,
}
_INSIDE: Mapping[str, tuple[str, ...]] = {
    "profile, KV cache and warm-up": ("compilation", "capture"),
    "scheduler, all of it": ("weights", "KV cache", "capture"),
}
# Beside the others, or around them: never added up with them.
_APART = frozenset({"front end, all of it"})
# What must stay the same for a compiled or captured product to be taken again.
_INVALIDATED_BY = (
    "engine version",
    "model revision",
    "launch configuration",
    "captured sizes",
    "device",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPart:
    """``own_s`` is without the parts inside it; None where they are longer than the whole."""

    name: str
    source: StartSource
    duration_s: float
    own_s: float | None
    evidence: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What compilation or capture made: what it is bound to, and what makes it void."""

    source: StartSource
    cost_s: float
    bound_to: Mapping[str, Any]
    invalidated_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """``by_source`` adds up own times. ``unexplained_s`` is None for ``reason``."""

    parts: tuple[StartPart, ...]
    by_source: Mapping[StartSource, float]
    ready_s: float | None
    unexplained_s: float | None
    products: tuple[Product, ...]
    reason: str


def cold_start(
    rows: Iterable[Mapping[str, Any]], *, ready_s: float | None, bound_to: Mapping[str, Any]
) -> ColdStart:
    """From ``start_part`` rows. ``ready_s`` runs from the launch until the engine answered."""
    durations = {str(r["part"]): (float(r["duration_s"]), r.get("source")) for r in rows}
    parts = tuple(_part(name, durations) for name in durations)
    by_source: dict[StartSource, float] = {}
    for part in parts:
        if part.own_s is not None and part.name not in _APART:
            by_source[part.source] = by_source.get(part.source, 0.0) + part.own_s
    unexplained, reason = _unexplained(parts, sum(by_source.values()), ready_s)
    return ColdStart(
        parts=parts,
        by_source=by_source,
        ready_s=ready_s,
        unexplained_s=unexplained,
        products=tuple(_products(by_source, bound_to)),
        reason=reason,
    )


def _unexplained(
    parts: Sequence[StartPart], explained_s: float, ready_s: float | None
) -> tuple[float | None, str]:
    if not parts:
        return None, "the engine's own record times no part of its start"
    if ready_s is None:
        return None, "when the engine was ready is not known"
    if explained_s > ready_s:
        return None, "the parts are longer than the start: some ran side by side"
    return ready_s - explained_s, ""


def _part(name: str, durations: Mapping[str, tuple[float, str | None]]) -> StartPart:
    whole, evidence = durations[name]
    inside = sum(durations[n][0] for n in _INSIDE.get(name, ()) if n in durations)
    own = whole - inside
    return StartPart(
        name=name,
        source=_SOURCES.get(name, StartSource.other),
        duration_s=whole,
        own_s=own if own >= 0 else None,
        evidence=evidence,
    )


def _products(
    by_source: Mapping[StartSource, float], bound_to: Mapping[str, Any]
) -> Sequence[Product]:
    return [
        Product(
            source=source,
            cost_s=by_source[source],
            bound_to=bound_to,
            invalidated_by=_INVALIDATED_BY,
        )
        for source in (StartSource.compile, StartSource.capture)
        if by_source.get(source)
    ]
