"""The roofs of a device for one model: rated figures of the catalogue, or the best ones measured on a
host."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.devices.catalogue import device, peak_flops_per_s
from assay.analysis.devices.commitment import backs_capacity
from assay.analysis.devices.figures import Device
from assay.analysis.devices.machine import best_flops, best_read_bandwidth
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.parallel.messages import Account, Link
from assay.analysis.perfmodel.quantization.declared import Declared
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.units import capacity_text
from runners.protocol.errors import Finding

THIS_HOST = "this-host"


def rated_roofs(name: str, declared: Declared) -> DeviceRoofs:
    """Rated figures of a catalogued device. One that is only announced bounds times and backs no capacity.

    The matrix peak is that of the element type both operands have: that of quantized activations where the
    device computes in it, else the model's own.
    """
    entry = device(name)
    operands = declared.product_dtype
    product = operands if operands in entry.peaks else declared.model_dtype
    peak = peak_flops_per_s(entry, product)
    bandwidth, size = entry.memory_bandwidth, entry.memory_bytes
    return DeviceRoofs(
        name=entry.name,
        flops_per_s=peak.value,
        bandwidth_bytes_per_s=bandwidth.value,
        memory_level=entry.memory_level,
        memory_bytes=int(size.value) if backs_capacity(entry) else None,
        sources=(
            f"dense {product} peak: {peak.column}, {peak.source}, {peak.date}",
            f"bandwidth: {bandwidth.column}, {bandwidth.source}, {bandwidth.date}",
            _memory_source(entry),
        ),
    )


def _memory_source(entry: Device) -> str:
    if not backs_capacity(entry):
        return f"memory: no capacity is stated of a device in {entry.maturity}"
    size = entry.memory_bytes
    return f"memory: {size.column} (decimal), {size.source}, {size.date}"


def measured_roofs(
    documents: Sequence[Mapping[str, Any]], *, working_set_bytes: int, dtype: str
) -> DeviceRoofs:
    """The best figures that micro-benchmarks of this host ever gave, at the model's size and element
    type."""
    bandwidth = best_read_bandwidth(documents, working_set_bytes=working_set_bytes)
    flops = best_flops(documents, dtype=dtype)
    if bandwidth is None or flops is None:
        size = capacity_text(working_set_bytes)
        lacking = f"{dtype} products" if flops is None else f"reads of {size}"
        raise ModelRefused(
            Finding(
                field="device",
                seen=f"{THIS_HOST}: no stored measurement of {lacking}",
                allowed="a catalogued device, or a measured host",
                remedy=f"Measure it: assay device measure --working-set-bytes {working_set_bytes}",
            )
        )
    return DeviceRoofs(
        name=THIS_HOST,
        flops_per_s=flops.value,
        bandwidth_bytes_per_s=bandwidth.value,
        memory_level=bandwidth.memory_level,
        memory_bytes=documents[-1]["host"]["memory_bytes"],
        sources=(
            f"{dtype} products: micro-benchmark, {flops.parameter['reference']}",
            f"bandwidth: micro-benchmark, {bandwidth.parameter['reference']}",
            "memory: observed, /proc/meminfo",
        ),
    )


def domain_link(name: str, *, alpha_s: float, bytes_per_s: float | None) -> dict[Account, Link]:
    """The link inside a domain: the given bandwidth, else what one direction of the device's own link
    carries.

    The fixed time has no default. Empty where neither is known.
    """
    if bytes_per_s is not None:
        link = Link(alpha_s=alpha_s, bytes_per_s=bytes_per_s, source="command line")
        return {Account.IN_DOMAIN: link}
    links = device(name).links
    if not links:
        return {}
    found = links[0]
    source = f"rated {found.kind} {found.generation}, one direction; fixed time: given"
    link = Link(alpha_s=alpha_s, bytes_per_s=found.one_way_bytes_per_s, source=source)
    return {Account.IN_DOMAIN: link}
