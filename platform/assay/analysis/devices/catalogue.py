"""The catalogue of devices: one literal table a maker, and how a device or one of its figures is found.

Peaks are dense (no structured sparsity) with 32-bit accumulation. Capacities are the maker's decimal figure;
what a driver reports as total is another one and stands under ``observed`` where it is known. Nothing here is
a default: a device that is not listed has to be measured or added with its source.
"""

from assay.analysis.devices import amd, apple, intel, nvidia_data_center, nvidia_workstation
from assay.analysis.devices.figures import AccessPattern, Device, Figure, SustainedBandwidth
from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

DEVICES: tuple[Device, ...] = (
    *nvidia_data_center.DEVICES,
    *nvidia_workstation.DEVICES,
    *amd.DEVICES,
    *intel.DEVICES,
    *apple.DEVICES,
)


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


def sustained_bandwidth(entry: Device, pattern: AccessPattern) -> SustainedBandwidth:
    """The bandwidth observed under that very access pattern.

    Neither the peak nor another pattern's figure is taken instead: a copy says nothing about paged reads.
    """
    for found in entry.sustained:
        if found.pattern is pattern:
            return found
    known = ", ".join(found.pattern for found in entry.sustained)
    raise ModelRefused(
        Finding(
            field="sustained bandwidth",
            seen=f"{pattern} on {entry.name}",
            allowed=known or "none (no sustained figure is known)",
            remedy="Measure it on such a machine: assay device measure. The peak is another parameter.",
        )
    )


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum() or letter == "+")
