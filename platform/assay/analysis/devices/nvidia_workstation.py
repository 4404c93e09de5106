"""NVIDIA cards for desktops and workstations. GeForce runs 16-bit products at half rate with 32-bit sums."""

from assay.analysis.devices.figures import Device, LinkKind, SourceKind
from assay.analysis.devices.quoted import AICONFIGURATOR, VLLM_LOG
from assay.analysis.devices.sheet import Memory, Sheet, accelerator

_NVIDIA = "NVIDIA"
_ADA = Sheet(
    title="NVIDIA Ada GPU architecture paper, GeForce RTX 4090 (32-bit accumulation)",
    kind=SourceKind.architecture_paper,
    edition="2022",
)
_BLACKWELL = Sheet(
    title="NVIDIA RTX Blackwell GPU architecture paper, GeForce RTX 5090 (32-bit accumulation)",
    kind=SourceKind.architecture_paper,
    edition="2025",
)
_PRO = Sheet(
    title="NVIDIA RTX PRO Blackwell GPU architecture paper, RTX PRO 6000 Workstation Edition",
    kind=SourceKind.architecture_paper,
    edition="2025",
)
_PRO_SERVER = Sheet(
    title="NVIDIA RTX PRO 6000 Blackwell Server Edition data sheet",
    kind=SourceKind.data_sheet,
    edition="2025",
)

DEVICES: tuple[Device, ...] = (
    accelerator(
        "RTX-4090", maker=_NVIDIA, sheet=_ADA, power_w=450, aliases=("RTX4090", "4090"),
        memory=Memory(gb=24, gb_per_s=1008, level="GDDR6X"),
        peaks=_ADA.peaks(
            bfloat16=165.2, float16=165.2, float8_e4m3fn=330.3, int8=660.6, tfloat32=82.6, float32=82.6
        ),
        links=(_ADA.link(LinkKind.pcie, "4.0 x16", both_ways_gb_per_s=64),),
        observed=(VLLM_LOG.observed_bytes(25_250_627_584),),
        remarks=("8-bit float products with 16-bit sums run at 660.6 TFLOP/s",),
    ),
    accelerator(
        "RTX-5090", maker=_NVIDIA, sheet=_BLACKWELL, power_w=575, aliases=("RTX5090", "5090"),
        memory=Memory(gb=32, gb_per_s=1792, level="GDDR7"),
        peaks=_BLACKWELL.peaks(
            bfloat16=209.5, float16=209.5, float8_e4m3fn=419, float4_e2m1fn=1676, int8=838,
            tfloat32=104.8, float32=104.8,
        ),
        links=(_BLACKWELL.link(LinkKind.pcie, "5.0 x16", both_ways_gb_per_s=128),),
        remarks=("16-bit products with 16-bit sums, and 8-bit ones, run at twice these rates",),
    ),
    accelerator(
        "RTX-PRO-6000-Blackwell", maker=_NVIDIA, sheet=_PRO, power_w=600,
        aliases=("RTX-PRO-6000", "RTX-PRO-6000-Workstation"),
        memory=Memory(gb=96, gb_per_s=1792, level="GDDR7"),
        peaks=_PRO.peaks(
            bfloat16=503.8, float16=503.8, float8_e4m3fn=1007.6, float4_e2m1fn=2015.2, int8=1007.6,
            tfloat32=251.9, float32=125.95,
        ),
        links=(_PRO.link(LinkKind.pcie, "5.0 x16", both_ways_gb_per_s=128),),
    ),
    accelerator(
        "RTX-PRO-6000-Blackwell-Server", maker=_NVIDIA, sheet=_PRO_SERVER, power_w=600,
        aliases=("RTX-PRO-6000-Server",),
        memory=Memory(gb=96, gb_per_s=1597, level="GDDR7"),
        peaks=_PRO_SERVER.halved(
            float4_e2m1fn=4000, float8_e4m3fn=2000, bfloat16=1000, float16=1000
        ) | _PRO_SERVER.peaks(float32=120),
        links=(_PRO_SERVER.link(LinkKind.pcie, "5.0 x16", both_ways_gb_per_s=128),),
        observed=(AICONFIGURATOR.observed_bytes(97_887 * 2**20),),
        remarks=("peaks as rounded on the sheet; power is configurable from 400 to 600 W",),
    ),
)  # fmt: skip
