"""The catalogue of devices: a literal table of rated figures with their sources.

Peaks are dense (no structured sparsity) with 32-bit accumulation. Capacities are the maker's decimal figure;
what a driver reports as total is another one and stands under ``observed`` where it is known. Nothing here is
a default: a device that is not listed has to be measured or added with its source.
"""

from assay.analysis.devices.figures import Column, Device, Figure, Maturity
from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

_DATE = "2026-11-29"
_OBSERVED = "vLLM 0.19 engine log in casys-kaist/LLMServingSim (commit 5daddb21), bench/examples"


def _rated(value: float, unit: str, source: str) -> Figure:
    return Figure(value=value, unit=unit, column=Column.rated, source=source, date=_DATE)


def _peaks(source: str, **tera: float) -> dict[str, Figure]:
    return {name: _rated(value * 1e12, "FLOP/s", source) for name, value in tera.items()}


def _gpu(
    name: str,
    *,
    source: str,
    memory_gb: float,
    bandwidth_gb_per_s: float,
    level: str,
    peaks: dict[str, Figure],
    link_gb_per_s: float | None = None,
    observed: tuple[Figure, ...] = (),
    aliases: tuple[str, ...] = (),
) -> Device:
    return Device(
        name=name,
        kind="gpu",
        maturity=Maturity.ga,
        memory_bytes=_rated(memory_gb * 1e9, "byte", source),
        memory_bandwidth=_rated(bandwidth_gb_per_s * 1e9, "byte/s", source),
        memory_level=level,
        peaks=peaks,
        link_bytes_per_s=None
        if link_gb_per_s is None
        else _rated(link_gb_per_s * 1e9, "byte/s", source),
        observed=observed,
        aliases=aliases,
    )


_A100 = "NVIDIA A100 Tensor Core GPU data sheet"
_H100 = "NVIDIA H100 Tensor Core GPU data sheet (SXM; sparse figures halved)"
_H200 = "NVIDIA H200 Tensor Core GPU data sheet (SXM; sparse figures halved)"
_B200 = "NVIDIA HGX B200 data sheet, per GPU at 1000 W (sparse figures halved)"
_L40S = "NVIDIA L40S data sheet"
_4090 = "NVIDIA Ada GPU architecture paper, GeForce RTX 4090 (32-bit accumulation)"
_MI300X = "AMD Instinct MI300X data sheet (dense)"
_EPYC = "AMD EPYC 9654: 12 channels DDR5-4800 x 8 byte; peak 96 cores x 32 FLOP x 2.4 GHz base"
_XEON = "Intel Xeon Platinum 8480+: 8 channels DDR5-4800 x 8 byte"


def _hopper(source: str) -> dict[str, Figure]:
    return _peaks(
        source, bfloat16=989.4, float16=989.4, float8_e4m3fn=1978.9, int8=1978.9,
        tfloat32=494.7, float32=66.9,
    )  # fmt: skip


DEVICES: tuple[Device, ...] = (
    _gpu(
        "A100-40GB-SXM", source=_A100, memory_gb=40, bandwidth_gb_per_s=1555, level="HBM2",
        peaks=_peaks(_A100, bfloat16=312, float16=312, int8=624, tfloat32=156, float32=19.5),
        link_gb_per_s=600,
    ),
    _gpu(
        "A100-80GB-SXM", source=_A100, memory_gb=80, bandwidth_gb_per_s=2039, level="HBM2e",
        peaks=_peaks(_A100, bfloat16=312, float16=312, int8=624, tfloat32=156, float32=19.5),
        link_gb_per_s=600, aliases=("A100",),
    ),
    _gpu(
        "H100-SXM", source=_H100, memory_gb=80, bandwidth_gb_per_s=3350, level="HBM3",
        peaks=_hopper(_H100), link_gb_per_s=900, aliases=("H100", "H100-80GB", "H100-80GB-SXM"),
    ),
    _gpu(
        "H200-SXM", source=_H200, memory_gb=141, bandwidth_gb_per_s=4800, level="HBM3e",
        peaks=_hopper(_H200), link_gb_per_s=900, aliases=("H200",),
    ),
    _gpu(
        "B200-SXM", source=_B200, memory_gb=180, bandwidth_gb_per_s=8000, level="HBM3e",
        peaks=_peaks(
            _B200, bfloat16=2250, float16=2250, float8_e4m3fn=4500, int8=4500, tfloat32=1100,
            float32=80,
        ),
        link_gb_per_s=1800, aliases=("B200",),
    ),
    _gpu(
        "L40S", source=_L40S, memory_gb=48, bandwidth_gb_per_s=864, level="GDDR6",
        peaks=_peaks(
            _L40S, bfloat16=362.05, float16=362.05, float8_e4m3fn=733, int8=733, tfloat32=183,
            float32=91.6,
        ),
    ),
    _gpu(
        "RTX-4090", source=_4090, memory_gb=24, bandwidth_gb_per_s=1008, level="GDDR6X",
        peaks=_peaks(
            _4090, bfloat16=165.2, float16=165.2, float8_e4m3fn=330.3, int8=660.6, tfloat32=82.6,
            float32=82.6,
        ),
        observed=(
            Figure(
                value=25250627584, unit="byte", column=Column.observed, source=_OBSERVED, date=_DATE
            ),
        ),
        aliases=("RTX4090", "4090"),
    ),
    _gpu(
        "MI300X", source=_MI300X, memory_gb=192, bandwidth_gb_per_s=5300, level="HBM3",
        peaks=_peaks(
            _MI300X, bfloat16=1307.4, float16=1307.4, float8_e4m3fn=2614.9, int8=2614.9,
            tfloat32=653.7, float32=163.4,
        ),
        link_gb_per_s=896,
    ),
    Device(
        name="EPYC-9654",
        kind="cpu",
        maturity=Maturity.ga,
        memory_bytes=_rated(6e12, "byte", "AMD EPYC 9654: up to 6 TB a socket"),
        memory_bandwidth=_rated(460.8e9, "byte/s", _EPYC),
        memory_level="DDR5",
        peaks={
            "float32": Figure(
                value=96 * 32 * 2.4e9, unit="FLOP/s", column=Column.assumed, source=_EPYC, date=_DATE
            )
        },
    ),
    Device(
        name="Xeon-8480+",
        kind="cpu",
        maturity=Maturity.ga,
        memory_bytes=_rated(4e12, "byte", "Intel Xeon Platinum 8480+: up to 4 TB a socket"),
        memory_bandwidth=_rated(307.2e9, "byte/s", _XEON),
        memory_level="DDR5",
        peaks={},
    ),
)  # fmt: skip


def device(name: str) -> Device:
    """The device of that name or alias (letter case and separators do not matter)."""
    wanted = _plain(name)
    for entry in DEVICES:
        if wanted in {_plain(known) for known in (entry.name, *entry.aliases)}:
            return entry
    raise ModelRefused(
        Finding(
            field="device",
            seen=name,
            allowed=", ".join(entry.name for entry in DEVICES) + ", this-host",
            remedy="Name a listed device, or measure this machine: assay device measure.",
        )
    )


def peak_flops_per_s(entry: Device, dtype: str) -> Figure:
    """The dense peak of one element type; a type without a figure is refused, never taken from another."""
    if dtype not in entry.peaks:
        raise ModelRefused(
            Finding(
                field="weight-dtype",
                seen=f"{dtype} on {entry.name}",
                allowed=", ".join(sorted(entry.peaks)) or "none (no peak is known)",
                remedy="Give the element type the matrices are computed in, or measure the device.",
            )
        )
    return entry.peaks[dtype]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum() or letter == "+")
