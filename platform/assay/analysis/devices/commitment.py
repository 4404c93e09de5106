"""Which devices may back a capacity commitment: those that can be had, not those that are announced."""

from assay.analysis.devices.figures import Device, Figure, Maturity
from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.errors import Finding

_BACKING = (Maturity.ga, Maturity.maintenance, Maturity.obtainable)


def backs_capacity(entry: Device) -> bool:
    return entry.maturity in _BACKING


def committed_memory(entry: Device) -> Figure:
    """The memory that a capacity statement may count on; refused for a preview or a roadmap item."""
    if not backs_capacity(entry):
        raise ModelRefused(
            Finding(
                field="device.maturity",
                seen=f"{entry.name}: {entry.maturity}",
                allowed=", ".join(_BACKING),
                remedy="An announced device backs no capacity; state its bounds without a commitment.",
            )
        )
    return entry.memory_bytes
