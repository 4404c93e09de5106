"""AMD accelerators and hosts."""

from assay.analysis.devices.figures import Device, Figure, Link, LinkKind, SourceKind
from assay.analysis.devices.sheet import Memory, Sheet, Socket, accelerator, host

_AMD = "AMD"
_MI300X = Sheet(title="AMD Instinct MI300X data sheet", kind=SourceKind.data_sheet, edition="2023")
_MI325X = Sheet(title="AMD Instinct MI325X data sheet", kind=SourceKind.data_sheet, edition="2024")
_GENOA = Sheet(title="AMD EPYC 9004 series data sheet", kind=SourceKind.data_sheet, edition="2022")

# Zen 4: two 256-bit FMA pipes; VDPBF16PS does two products a 32-bit lane.
_ZEN_4 = {"float32": 32, "bfloat16": 64}


def _cdna_3(sheet: Sheet) -> dict[str, Figure]:
    return sheet.peaks(
        bfloat16=1307.4, float16=1307.4, float8_e4m3fn=2614.9, int8=2614.9, tfloat32=653.7, float32=163.4
    )  # fmt: skip


def _instinct_links(sheet: Sheet) -> tuple[Link, ...]:
    """Seven links of 128 GB/s, one to each other accelerator of a board of eight."""
    return (
        sheet.link(LinkKind.infinity_fabric, "3, 7 links", both_ways_gb_per_s=896),
        sheet.link(LinkKind.pcie, "5.0 x16", both_ways_gb_per_s=128),
    )


# Per socket: 128 lanes of PCIe 5.0, of which up to four links of 16 lanes go to the other socket.
_GENOA_LINKS = (
    _GENOA.link(LinkKind.pcie, "5.0, 128 lanes", both_ways_gb_per_s=1024),
    _GENOA.link(LinkKind.xgmi, "4 links of 16 lanes at 32 GT/s", both_ways_gb_per_s=512),
)

DEVICES: tuple[Device, ...] = (
    accelerator(
        "MI300X", maker=_AMD, sheet=_MI300X, power_w=750,
        memory=Memory(gb=192, gb_per_s=5300, level="HBM3"), peaks=_cdna_3(_MI300X),
        links=_instinct_links(_MI300X),
    ),
    accelerator(
        "MI325X", maker=_AMD, sheet=_MI325X, power_w=1000,
        memory=Memory(gb=256, gb_per_s=6000, level="HBM3e"), peaks=_cdna_3(_MI325X),
        links=_instinct_links(_MI325X),
    ),
    host(
        "EPYC-9654", maker=_AMD, sheet=_GENOA, level="DDR5", links=_GENOA_LINKS,
        socket=Socket(
            cores=96, boost_ghz=3.7, channels=12, megatransfers_per_s=4800, memory_gb=6000,
            power_w=360, flops_per_cycle=_ZEN_4,
        ),
    ),
    host(
        "EPYC-9554", maker=_AMD, sheet=_GENOA, level="DDR5", links=_GENOA_LINKS,
        socket=Socket(
            cores=64, boost_ghz=3.75, channels=12, megatransfers_per_s=4800, memory_gb=6000,
            power_w=360, flops_per_cycle=_ZEN_4,
        ),
    ),
)  # fmt: skip
