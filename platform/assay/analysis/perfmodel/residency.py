"""Keeping weights in device memory while nobody uses them: what it saves, what it costs, the way back.

Benefits and costs stand in two lists and are never netted: seconds of a first request are no bytes of state.
Source: chapter 3.4.3.
"""

from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding


class Place(StrEnum):
    """Where the weights wait."""

    DEVICE = "device memory"
    HOST = "host memory"
    STORAGE = "storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One benefit or cost. ``value`` is None where an input is missing, with the reason."""

    what: str
    value: float | None
    unit: str
    missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One leg of the way back into device memory: its declared sustained rate, or None."""

    source: Place
    target: Place
    bytes_per_s: float | None
    rate_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """``recovery`` are the legs that bring the weights back when they were given up or lost."""

    place: Place
    benefits: tuple[Entry, ...]
    costs: tuple[Entry, ...]
    recovery: tuple[Entry, ...]
    not_in_it: tuple[str, ...]


def resident_weights(
    *, weight_bytes: int, state_bytes_per_token: int, way_back: tuple[Transfer, ...]
) -> Residency:
    """The account of weights that stay in device memory, and of getting them back after a loss.

    ``way_back`` are the legs in order, the last one into device memory.
    """
    if not way_back or way_back[-1].target is not Place.DEVICE:
        raise ModelRefused(
            Finding(
                field="way_back",
                seen=" -> ".join(leg.target for leg in way_back) or "none",
                allowed="legs that end in device memory",
                remedy="Say how the weights come back after eviction or a lost process.",
            )
        )
    recovery = tuple(_leg(leg, weight_bytes) for leg in way_back)
    times = [entry.value for entry in recovery]
    known = [value for value in times if value is not None]
    whole = sum(known) if len(known) == len(times) else None
    per_token = state_bytes_per_token
    return Residency(
        place=Place.DEVICE,
        benefits=(
            Entry(
                what="first request does not wait for the weights",
                value=whole,
                unit="s",
                missing=None if whole is not None else "a leg of the way back has no rate",
            ),
        ),
        costs=(
            Entry(what="device memory held while idle", value=weight_bytes, unit="byte"),
            Entry(
                what="tokens of state that the memory could hold instead",
                value=weight_bytes // per_token if per_token else None,
                unit="token",
                missing=None if per_token else "the state does not grow with tokens",
            ),
        ),
        recovery=recovery,
        not_in_it=(
            "graph capture, compilation and warm-up after the weights are back",
            "prefix state that was lost with them: it is computed again",
        ),
    )


def _leg(leg: Transfer, size: int) -> Entry:
    return Entry(
        what=f"{leg.source} to {leg.target} ({leg.rate_source})",
        value=None if leg.bytes_per_s is None else size / leg.bytes_per_s,
        unit="s",
        missing=None if leg.bytes_per_s is not None else "no sustained rate is known for this leg",
    )
