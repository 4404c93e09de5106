"""From the figures a source prints (GB, GB/s, TFLOP/s, W) to figures in base units that name it."""

from dataclasses import dataclass

from assay.analysis.devices.figures import Column, Device, Figure, Link, LinkKind, Maturity
from assay.analysis.devices.figures import SourceKind as Kind

LOOKED_UP = "2026-11-30"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One source. ``edition`` is the year it carries; None for pages that carry none."""

    title: str
    kind: Kind
    edition: str | None

    def figure(self, value: float, unit: str, *, column: Column = Column.rated) -> Figure:
        return Figure(
            value=value,
            unit=unit,
            column=column,
            source=self.title,
            kind=self.kind,
            edition=self.edition,
            date=LOOKED_UP,
        )

    def peaks(self, **tera: float) -> dict[str, Figure]:
        """Dense TFLOP/s (TOP/s for integers) by element type, as printed or already halved."""
        return {name: self.figure(value * 1e12, "FLOP/s") for name, value in tera.items()}

    def halved(self, **sparse_tera: float) -> dict[str, Figure]:
        """Dense peaks from figures that the source prints with 2:4 structured sparsity only."""
        return self.peaks(**{name: value / 2 for name, value in sparse_tera.items()})

    def link(self, kind: LinkKind, generation: str, *, both_ways_gb_per_s: float) -> Link:
        figure = self.figure(both_ways_gb_per_s * 1e9, "byte/s")
        return Link(kind=kind, generation=generation, both_ways=figure)

    def observed_bytes(self, value: int) -> Figure:
        """A memory size that a driver or an engine reported."""
        return self.figure(value, "byte", column=Column.observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Capacity (decimal GB, as printed), peak bandwidth and what kind of memory it is."""

    gb: float
    gb_per_s: float
    level: str


def accelerator(
    name: str,
    *,
    maker: str,
    sheet: Sheet,
    memory: Memory,
    peaks: dict[str, Figure],
    power_w: float,
    links: tuple[Link, ...],
    maturity: Maturity = Maturity.ga,
    aliases: tuple[str, ...] = (),
    observed: tuple[Figure, ...] = (),
    remarks: tuple[str, ...] = (),
) -> Device:
    """A GPU whose memory and power come from one sheet."""
    return Device(
        name=name,
        maker=maker,
        kind="gpu",
        maturity=maturity,
        memory_bytes=sheet.figure(memory.gb * 1e9, "byte"),
        memory_bandwidth=sheet.figure(memory.gb_per_s * 1e9, "byte/s"),
        memory_level=memory.level,
        peaks=peaks,
        power_w=sheet.figure(power_w, "W"),
        links=links,
        observed=observed,
        aliases=aliases,
        remarks=remarks,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Socket:
    """A host processor: what its peaks and its peak bandwidth are computed from."""

    cores: int
    boost_ghz: float  # the highest clock the maker states: the peaks are limits, not promises
    channels: int
    megatransfers_per_s: int  # each of 8 byte
    memory_gb: float
    power_w: float
    flops_per_cycle: dict[str, int]  # one core, by element type


def host(
    name: str, *, maker: str, sheet: Sheet, socket: Socket, level: str, links: tuple[Link, ...]
) -> Device:
    """One socket. Bandwidth = channels x transfers x 8 byte; peaks = cores x FLOP/cycle x boost clock.

    The peaks stand in the column ``assumed``: no maker rates them, and no processor holds its boost clock
    with wide vectors on every core, so they are upper limits.
    """
    computed = Sheet(
        title=f"{sheet.title}: {socket.cores} cores x FLOP per cycle x {socket.boost_ghz} GHz boost",
        kind=Kind.arithmetic,
        edition=sheet.edition,
    )
    return Device(
        name=name,
        maker=maker,
        kind="cpu",
        maturity=Maturity.ga,
        memory_bytes=sheet.figure(socket.memory_gb * 1e9, "byte"),
        memory_bandwidth=sheet.figure(socket.channels * socket.megatransfers_per_s * 8e6, "byte/s"),
        memory_level=level,
        peaks={
            dtype: computed.figure(
                socket.cores * per_cycle * socket.boost_ghz * 1e9, "FLOP/s", column=Column.assumed
            )
            for dtype, per_cycle in socket.flops_per_cycle.items()
        },
        power_w=sheet.figure(socket.power_w, "W"),
        links=links,
        remarks=("peaks are upper limits at the boost clock, not sustained rates",),
    )
