"""What is known of a device, in three columns: rated by its maker, observed in operation, assumed."""

from dataclasses import dataclass
from enum import StrEnum


class Column(StrEnum):
    rated = "rated"
    observed = "observed"
    assumed = "assumed"


class Maturity(StrEnum):
    """Only ``ga`` and ``maintenance`` back a capacity commitment."""

    ga = "GA"
    maintenance = "maintenance"
    preview = "preview"
    roadmap = "roadmap"
    obtainable = "available to obtain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a device. ``date`` is when it was looked up (UTC day), ``source`` where."""

    value: float
    unit: str
    column: Column
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device. ``peaks`` are dense FLOP/s by element type; an absent type is not known, not zero.

    ``memory_bytes`` and ``memory_bandwidth`` are of the device's own memory. ``observed`` figures stand
    beside the rated ones and never replace them.
    """

    name: str
    kind: str  # gpu | cpu
    maturity: Maturity
    memory_bytes: Figure
    memory_bandwidth: Figure
    memory_level: str
    peaks: dict[str, Figure]
    link_bytes_per_s: Figure | None = None
    observed: tuple[Figure, ...] = ()
    aliases: tuple[str, ...] = ()
