"""Whether an estimate lies where its parameters were fitted, and if not, in which ways it goes beyond."""

from collections.abc import Sequence
from dataclasses import dataclass

# The words of ``calibration``, which loads numpy: ``assay predict`` shall not wait for it.
CALIBRATED, EXTRAPOLATED = "calibrated", "extrapolated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a step lies: device, engine, how many devices share it, sequences of a replica, stored tokens."""

    device: str
    engine: str
    layout: tuple[int, int, int]  # tensor, expert, data
    rows: int
    context: int


def validity(place: Place, fitted: Sequence[Place]) -> tuple[str, tuple[str, ...]]:
    """``calibrated`` inside what was fitted on that very device and engine, else what is beyond it."""
    same = [p for p in fitted if (p.device, p.engine) == (place.device, place.engine)]
    if not same:
        known = any(p.device == place.device for p in fitted)
        beyond = ("another engine",) if known else ("another device",)
        return EXTRAPOLATED, beyond
    found = []
    if place.layout not in {p.layout for p in same}:
        found.append("another parallelism")
    if not min(p.rows for p in same) <= place.rows <= max(p.rows for p in same):
        found.append("another batch")
    if not min(p.context for p in same) <= place.context <= max(p.context for p in same):
        found.append("another context")
    return (EXTRAPOLATED if found else CALIBRATED), tuple(found)
