"""What is known of a device, in three columns: rated by its maker, observed in operation, assumed.

Peak and sustained bandwidth are two parameters: the peak is the memory interface's, a sustained figure is one
that was observed under a named access pattern. Neither stands in for the other.
"""

from dataclasses import dataclass
from enum import StrEnum


class Column(StrEnum):
    rated = "rated"
    observed = "observed"
    assumed = "assumed"


class Maturity(StrEnum):
    """Preview and roadmap never back a capacity commitment (``devices.commitment``)."""

    ga = "GA"
    maintenance = "maintenance"
    preview = "preview"
    roadmap = "roadmap"
    obtainable = "available to obtain"


class SourceKind(StrEnum):
    """What a figure was read from. A product page changes without notice and ranks nothing."""

    data_sheet = "data sheet"
    architecture_paper = "architecture paper"
    product_page = "product page"
    third_party = "third party"
    engine_log = "engine log"
    measurement = "published measurement"
    arithmetic = "arithmetic on rated figures"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a device, in base units.

    ``date`` is when it was looked up (UTC day), ``edition`` the year the source itself carries; None where it
    carries none.
    """

    value: float
    unit: str  # byte | byte/s | FLOP/s | W
    column: Column
    source: str
    kind: SourceKind
    edition: str | None
    date: str


class AccessPattern(StrEnum):
    """How memory was walked while a sustained bandwidth was observed."""

    read = "read"
    write = "write"
    copy = "copy"
    triad = "triad"
    strided_read = "strided read"
    random_gather = "random gather"
    paged_gather = "paged gather"
    weight_pass = "weight pass"  # every matrix once, few rows: what a decode step does


@dataclass(frozen=True, slots=True, kw_only=True)
class SustainedBandwidth:
    """A bandwidth in operation; ``read_share`` of its bytes are reads, ``conditions`` say how it was got."""

    figure: Figure
    pattern: AccessPattern
    read_share: float
    conditions: str


class LinkKind(StrEnum):
    nvlink = "NVLink"
    pcie = "PCIe"
    infinity_fabric = "Infinity Fabric"  # between AMD accelerators
    xgmi = "xGMI"  # between AMD sockets
    upi = "UPI"  # between Intel sockets
    c2c = "NVLink-C2C"  # between Grace and the accelerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One kind of link of a device, all of its links together, as makers print it: both directions summed."""

    kind: LinkKind
    generation: str
    both_ways: Figure

    @property
    def one_way_bytes_per_s(self) -> float:
        """What one direction carries: a message uses this, not the printed sum."""
        return self.both_ways.value / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device. ``peaks`` are dense FLOP/s by element type; an absent type is not known, not zero.

    ``memory_bytes`` and ``memory_bandwidth`` (the peak) are of the device's own memory, ``memory_level``.
    ``sustained`` and ``observed`` figures stand beside the rated ones and never replace them.
    """

    name: str
    maker: str
    kind: str  # gpu | cpu
    maturity: Maturity
    memory_bytes: Figure
    memory_bandwidth: Figure
    memory_level: str
    peaks: dict[str, Figure]
    power_w: Figure | None
    links: tuple[Link, ...] = ()
    sustained: tuple[SustainedBandwidth, ...] = ()
    observed: tuple[Figure, ...] = ()
    aliases: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def link(self, kind: LinkKind) -> Link | None:
        """The link of that kind; None where the device has none or none is known."""
        return next((link for link in self.links if link.kind is kind), None)

    def figures(self) -> tuple[Figure, ...]:
        """Every figure of the device."""
        power = () if self.power_w is None else (self.power_w,)
        return (
            self.memory_bytes,
            self.memory_bandwidth,
            *self.peaks.values(),
            *power,
            *(link.both_ways for link in self.links),
            *(item.figure for item in self.sustained),
            *self.observed,
        )
