"""Intel hosts."""

from assay.analysis.devices.figures import Device, Link, LinkKind, SourceKind
from assay.analysis.devices.sheet import Sheet, Socket, host

_INTEL = "Intel"
_SAPPHIRE_RAPIDS = Sheet(
    title="Intel Xeon Platinum 8480+, ark.intel.com", kind=SourceKind.product_page, edition=None
)
_EMERALD_RAPIDS = Sheet(
    title="Intel Xeon Platinum 8592+, ark.intel.com", kind=SourceKind.product_page, edition=None
)

# Two 512-bit FMA pipes; AMX tiles: 512 products of 16 bits (1024 of 8 bits) a cycle.
_AMX = {"float32": 64, "bfloat16": 1024, "int8": 2048}


def _links(sheet: Sheet, *, upi_gt_per_s: int) -> tuple[Link, ...]:
    """80 lanes of PCIe 5.0; four UPI links of 24 lanes, raw rate."""
    return (
        sheet.link(LinkKind.pcie, "5.0, 80 lanes", both_ways_gb_per_s=640),
        sheet.link(
            LinkKind.upi,
            f"4 links of 24 lanes at {upi_gt_per_s} GT/s",
            both_ways_gb_per_s=4 * 2 * 24 * upi_gt_per_s / 8,
        ),
    )


DEVICES: tuple[Device, ...] = (
    host(
        "Xeon-8480+", maker=_INTEL, sheet=_SAPPHIRE_RAPIDS, level="DDR5",
        links=_links(_SAPPHIRE_RAPIDS, upi_gt_per_s=16),
        socket=Socket(
            cores=56, boost_ghz=3.8, channels=8, megatransfers_per_s=4800, memory_gb=4000,
            power_w=350, flops_per_cycle=_AMX,
        ),
    ),
    host(
        "Xeon-8592+", maker=_INTEL, sheet=_EMERALD_RAPIDS, level="DDR5",
        links=_links(_EMERALD_RAPIDS, upi_gt_per_s=20),
        socket=Socket(
            cores=64, boost_ghz=3.9, channels=8, megatransfers_per_s=5600, memory_gb=4000,
            power_w=350, flops_per_cycle=_AMX,
        ),
    ),
)  # fmt: skip
