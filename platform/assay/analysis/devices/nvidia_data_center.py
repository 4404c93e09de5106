"""NVIDIA accelerators for servers. Peaks are dense with 32-bit accumulation; sparse figures are halved."""

from dataclasses import replace

from assay.analysis.devices.figures import (
    AccessPattern,
    Column,
    Device,
    Figure,
    Link,
    LinkKind,
    Maturity,
    SourceKind,
    SustainedBandwidth,
)
from assay.analysis.devices.quoted import AICONFIGURATOR, GPT_FAST
from assay.analysis.devices.sheet import Memory, Sheet, accelerator

_NVIDIA = "NVIDIA"
_A100 = Sheet(title="NVIDIA A100 data sheet", kind=SourceKind.data_sheet, edition="2021")
_A10 = Sheet(title="NVIDIA A10 data sheet", kind=SourceKind.data_sheet, edition="2021")
_H100 = Sheet(
    title="NVIDIA H100 architecture paper and data sheet (SXM)",
    kind=SourceKind.architecture_paper,
    edition="2022",
)
_H100_PCIE = Sheet(
    title="NVIDIA H100 data sheet, PCIe (figures with sparsity halved)",
    kind=SourceKind.data_sheet,
    edition="2022",
)
_H200 = Sheet(title="NVIDIA H200 data sheet", kind=SourceKind.data_sheet, edition="2023")
_H20 = Sheet(
    title="system vendors' H20 listings; NVIDIA publishes no data sheet",
    kind=SourceKind.product_page,
    edition=None,
)
_L4 = Sheet(
    title="NVIDIA L4 data sheet (figures with sparsity halved)",
    kind=SourceKind.data_sheet,
    edition="2023",
)
_L40S = Sheet(title="NVIDIA L40S data sheet", kind=SourceKind.data_sheet, edition="2023")
_B200 = Sheet(
    title="NVIDIA Blackwell architecture brief, HGX B200 per GPU (figures with sparsity halved)",
    kind=SourceKind.architecture_paper,
    edition="2024",
)
_GB200 = Sheet(
    title="NVIDIA Blackwell data sheet, GB200 NVL72 divided by 72 (figures with sparsity halved)",
    kind=SourceKind.data_sheet,
    edition="2024",
)


def _pcie(sheet: Sheet, generation: int) -> Link:
    return sheet.link(
        LinkKind.pcie, f"{generation}.0 x16", both_ways_gb_per_s={4: 64, 5: 128}[generation]
    )


def _nvlink(sheet: Sheet, generation: str, gb_per_s: float) -> Link:
    return sheet.link(LinkKind.nvlink, generation, both_ways_gb_per_s=gb_per_s)


def _ampere() -> dict[str, Figure]:
    return _A100.peaks(bfloat16=312, float16=312, int8=624, tfloat32=156, float32=19.5)


def _hopper(sheet: Sheet) -> dict[str, Figure]:
    return sheet.peaks(
        bfloat16=989.4, float16=989.4, float8_e4m3fn=1978.9, int8=1978.9, tfloat32=494.7, float32=66.9
    )  # fmt: skip


_GPT_FAST_READS = SustainedBandwidth(
    figure=GPT_FAST.figure(1700e9, "byte/s", column=Column.observed),
    pattern=AccessPattern.weight_pass,
    read_share=1.0,
    conditions="as the authors state it: one stream of batch-1 decode, cards limited to 330 W",
)

DEVICES: tuple[Device, ...] = (
    accelerator(
        "A100-40GB-SXM", maker=_NVIDIA, sheet=_A100, power_w=400,
        memory=Memory(gb=40, gb_per_s=1555, level="HBM2"), peaks=_ampere(),
        links=(_nvlink(_A100, "3", 600), _pcie(_A100, 4)),
    ),
    replace(
        accelerator(
            "A100-80GB-SXM", maker=_NVIDIA, sheet=_A100, power_w=400, aliases=("A100",),
            memory=Memory(gb=80, gb_per_s=2039, level="HBM2e"), peaks=_ampere(),
            links=(_nvlink(_A100, "3", 600), _pcie(_A100, 4)),
        ),
        sustained=(_GPT_FAST_READS,),
    ),
    accelerator(
        "A100-80GB-PCIe", maker=_NVIDIA, sheet=_A100, power_w=300,
        memory=Memory(gb=80, gb_per_s=1935, level="HBM2e"), peaks=_ampere(),
        links=(_nvlink(_A100, "3 bridge, two cards", 600), _pcie(_A100, 4)),
    ),
    accelerator(
        "A10", maker=_NVIDIA, sheet=_A10, power_w=150,
        memory=Memory(gb=24, gb_per_s=600, level="GDDR6"),
        peaks=_A10.peaks(bfloat16=125, float16=125, int8=250, tfloat32=62.5, float32=31.2),
        links=(_pcie(_A10, 4),),
    ),
    accelerator(
        "L4", maker=_NVIDIA, sheet=_L4, power_w=72,
        memory=Memory(gb=24, gb_per_s=300, level="GDDR6"),
        peaks=_L4.halved(bfloat16=242, float16=242, float8_e4m3fn=485, int8=485, tfloat32=120)
        | _L4.peaks(float32=30.3),
        links=(_pcie(_L4, 4),),
    ),
    accelerator(
        "L40S", maker=_NVIDIA, sheet=_L40S, power_w=350,
        memory=Memory(gb=48, gb_per_s=864, level="GDDR6"),
        peaks=_L40S.peaks(
            bfloat16=362.05, float16=362.05, float8_e4m3fn=733, int8=733, tfloat32=183, float32=91.6
        ),
        links=(_pcie(_L40S, 4),), observed=(AICONFIGURATOR.observed_bytes(46068 * 2**20),),
    ),
    accelerator(
        "H100-SXM", maker=_NVIDIA, sheet=_H100, power_w=700,
        memory=Memory(gb=80, gb_per_s=3350, level="HBM3"), peaks=_hopper(_H100),
        links=(_nvlink(_H100, "4", 900), _pcie(_H100, 5)),
        aliases=("H100", "H100-80GB", "H100-80GB-SXM"),
    ),
    accelerator(
        "H100-PCIe", maker=_NVIDIA, sheet=_H100_PCIE, power_w=350,
        memory=Memory(gb=80, gb_per_s=2000, level="HBM2e"),
        peaks=_H100_PCIE.halved(
            bfloat16=1513, float16=1513, float8_e4m3fn=3026, int8=3026, tfloat32=756
        ) | _H100_PCIE.peaks(float32=51),
        links=(_nvlink(_H100_PCIE, "4 bridge, two cards", 600), _pcie(_H100_PCIE, 5)),
    ),
    accelerator(
        "H200-SXM", maker=_NVIDIA, sheet=_H200, power_w=700, aliases=("H200",),
        memory=Memory(gb=141, gb_per_s=4800, level="HBM3e"), peaks=_hopper(_H200),
        links=(_nvlink(_H200, "4", 900), _pcie(_H200, 5)),
    ),
    accelerator(
        "H20-96GB", maker=_NVIDIA, sheet=_H20, power_w=400, aliases=("H20",),
        maturity=Maturity.obtainable,
        memory=Memory(gb=96, gb_per_s=4000, level="HBM3"),
        peaks=_H20.peaks(
            bfloat16=148, float16=148, float8_e4m3fn=296, int8=296, tfloat32=74, float32=44
        ),
        links=(_nvlink(_H20, "4", 900), _pcie(_H20, 5)),
        remarks=("sold to one market; a 141 GB variant exists and is another device",),
    ),
    accelerator(
        "B200-SXM", maker=_NVIDIA, sheet=_B200, power_w=1000, aliases=("B200",),
        memory=Memory(gb=180, gb_per_s=8000, level="HBM3e"),
        peaks=_B200.halved(
            bfloat16=4500, float16=4500, float8_e4m3fn=9000, float4_e2m1fn=18000, int8=9000, tfloat32=2200
        ) | _B200.peaks(float32=80),
        links=(_nvlink(_B200, "5", 1800), _pcie(_B200, 5)),
        remarks=(
            "sources differ on the bandwidth: 8.0 TB/s in the brief, 7.7 TB/s in aiconfigurator",
        ),
    ),
    accelerator(
        "GB200", maker=_NVIDIA, sheet=_GB200, power_w=1200, aliases=("GB200-per-GPU",),
        memory=Memory(gb=186, gb_per_s=8000, level="HBM3e"),
        peaks=_GB200.halved(
            bfloat16=5000, float16=5000, float8_e4m3fn=10000, float4_e2m1fn=20000, int8=10000, tfloat32=2500
        ),
        links=(
            _nvlink(_GB200, "5", 1800),
            _GB200.link(LinkKind.c2c, "Grace to two GPUs", both_ways_gb_per_s=900),
        ),
        observed=(AICONFIGURATOR.observed_bytes(189471 * 2**20),),
        remarks=(
            "one of the two GPUs of a superchip",
            "no float32 peak: NVIDIA's own documents differ (80 and 90 TFLOP/s)",
        ),
    ),
)  # fmt: skip
