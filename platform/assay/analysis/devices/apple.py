"""Apple systems. Apple states capacity and bandwidth and no arithmetic peaks, so there are none here."""

from assay.analysis.devices.figures import Device, Maturity, SourceKind
from assay.analysis.devices.sheet import Sheet

_STUDIO = Sheet(
    title="Apple, Mac Studio technical specifications", kind=SourceKind.product_page, edition=None
)


def _unified(name: str, *, gb: float, gb_per_s: float) -> Device:
    return Device(
        name=name,
        maker="Apple",
        kind="gpu",
        maturity=Maturity.ga,
        memory_bytes=_STUDIO.figure(gb * 1e9, "byte"),
        memory_bandwidth=_STUDIO.figure(gb_per_s * 1e9, "byte/s"),
        memory_level="LPDDR5",
        peaks={},
        power_w=None,
        remarks=("memory is shared with the host processor and the system",),
    )


DEVICES: tuple[Device, ...] = (
    _unified("Apple-M3-Ultra", gb=512, gb_per_s=819),
    _unified("Apple-M4-Max", gb=128, gb_per_s=546),
)
