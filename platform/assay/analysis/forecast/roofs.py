"""Which two roofs bound a run: the best figures seen on this host, or a catalogued device's rated ones.

A host's own figures bound only what runs on that host. For an accelerator the rated peaks are taken while
nothing was measured on it; for an endpoint elsewhere there are none unless its device is named. Peaks of
several devices are not added: how work is split and what is sent between them is not in a step's account.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.devices.catalogue import device as catalogued
from assay.analysis.devices.figures import Device, Figure
from assay.analysis.devices.machine import CPU, Best, best_flops, best_read_bandwidth
from assay.analysis.forecast.step_time import Roofs
from assay.analysis.perfmodel.errors import ModelRefused
from runners.protocol.documents import Parameter

SPECIFICATION = "specification"


def roofs_of(
    benchmarks: Sequence[Mapping[str, Any]],
    device: Mapping[str, Any],
    *,
    elsewhere: bool,
    dtype: str,
    weight_bytes: int,
) -> Roofs | str:
    """The roofs of ``device`` (of a RunSpec), or the sentence that says why there is no bound on time."""
    kind, count = str(device.get("kind", CPU)), int(device.get("count") or 1)
    if not elsewhere:
        measured = _measured(benchmarks, kind=kind, dtype=dtype, weight_bytes=weight_bytes)
        if kind == CPU or (isinstance(measured, Roofs) and count == 1):
            return measured
    if count > 1:
        return (
            f"no bound on time: {count} devices share a step, and their split is not modelled here"
        )
    return _rated(str(device.get("name", "")), dtype=dtype)


def _measured(
    benchmarks: Sequence[Mapping[str, Any]], *, kind: str, dtype: str, weight_bytes: int
) -> Roofs | str:
    bandwidth = best_read_bandwidth(benchmarks, working_set_bytes=weight_bytes, device=kind)
    flops = best_flops(benchmarks, dtype=dtype, device=kind)
    if bandwidth and flops:
        return Roofs(bandwidth=bandwidth, flops=flops)
    missing = "read bandwidth at the weights' size" if not bandwidth else f"{dtype} GEMM rate"
    return f"no bound on time: no stored micro-benchmark gives the {missing}"


def _rated(name: str, *, dtype: str) -> Roofs | str:
    try:
        found = catalogued(name)
    except ModelRefused:
        return f"no bound on time: device {name or 'unnamed'} is neither measured nor catalogued"
    peak = found.peaks.get(dtype)
    if peak is None:
        return f"no bound on time: no dense {dtype} peak of {found.name} is known"
    return Roofs(
        bandwidth=_figure("read_bandwidth_rated", found.memory_bandwidth, found),
        flops=_figure(f"flops_rated_{dtype}", peak, found),
    )


def _figure(name: str, figure: Figure, device: Device) -> Best:
    return Best(
        parameter=Parameter(
            name=name,
            value=figure.value,
            unit=figure.unit,
            source=SPECIFICATION,
            reference=f"{device.name}, {figure.column} peak, {figure.source}",
            date=figure.date,
            spread=[figure.value, figure.value],
        ),
        memory_level=device.memory_level,
    )
