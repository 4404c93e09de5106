"""Readings of NVIDIA devices through NVML: power, energy, clocks, memory, utilization, ECC, processes.

What a device does not tell (some boards count no energy, some have no ECC) is left out, never zero. The
library is loaded only where a driver is: nothing of it is needed on a machine without one.
"""

import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from runners.protocol import tables

Row = tables.TelemetryRow
SUBJECT = "nvml:"
DRIVER = Path("/proc/driver/nvidia/version")
_LIBRARY = "pynvml"  # of the distribution nvidia-ml-py
_MILLI = 1000


class DeviceFacts(TypedDict):
    """One device as NVML names it; a value that it does not tell is null."""

    index: int
    name: str | None
    uuid: str | None
    memory_bytes: int | None
    power_limit_w: float | None


def rows(library: Any | None = None) -> list[Row]:
    """One reading of every device; empty where there is none."""
    nvml = library if library is not None else _loaded()
    if nvml is None:
        return []
    found: list[Row] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        found += _device(nvml, handle, f"{SUBJECT}{index}")
    return found


def facts(library: Any | None = None) -> list[DeviceFacts]:
    nvml = library if library is not None else _loaded()
    if nvml is None:
        return []
    return [
        _facts(nvml, nvml.nvmlDeviceGetHandleByIndex(index), index)
        for index in range(nvml.nvmlDeviceGetCount())
    ]


def problem() -> str | None:
    """Why NVML cannot be asked here; None if it can."""
    if not DRIVER.exists():
        return "no NVIDIA driver on this machine (NVML absent)"
    if _loaded() is not None:
        return None
    if importlib.util.find_spec(_LIBRARY) is None:
        return (
            "an NVIDIA driver is loaded; its library for Python is not: pip install 'assay[nvml]'"
        )
    return "an NVIDIA driver is loaded and NVML does not answer"


@cache
def _loaded() -> Any | None:
    """NVML, initialised; None where there is no driver or it does not answer."""
    if not DRIVER.exists() or importlib.util.find_spec(_LIBRARY) is None:
        return None
    nvml = importlib.import_module(_LIBRARY)
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    return nvml


def _device(nvml: Any, handle: Any, subject: str) -> Iterator[Row]:
    t_ns = time.monotonic_ns()
    for metric, unit, ask in _questions(nvml, handle):
        if (value := _answer(nvml, ask)) is not None:
            yield (t_ns, subject, None, metric, float(value), unit)
    processes = _answer(nvml, lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or ()
    for process in processes:
        if process.usedGpuMemory is not None:
            used = float(process.usedGpuMemory)
            yield (t_ns, subject, int(process.pid), "process_memory_bytes", used, "byte")


def _questions(nvml: Any, handle: Any) -> tuple[tuple[str, str, Callable[[], Any]], ...]:
    def ecc() -> Any:
        return nvml.nvmlDeviceGetTotalEccErrors(
            handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        )

    return (
        # since the driver was loaded: a total, in mJ
        ("energy_j", "J", lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / _MILLI),
        ("power_w", "W", lambda: nvml.nvmlDeviceGetPowerUsage(handle) / _MILLI),
        ("sm_mhz", "MHz", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
        ("memory_mhz", "MHz", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
        ("memory_used_bytes", "byte", lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used),
        ("busy_share", "1", lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100),
        ("memory_busy_share", "1", lambda: nvml.nvmlDeviceGetUtilizationRates(handle).memory / 100),
        ("uncorrected_ecc_errors", "1", ecc),
        # bits of NVML's clock event reasons: 0 is none
        ("throttle_bits", "1", lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
    )


def _facts(nvml: Any, handle: Any, index: int) -> DeviceFacts:
    limit = _answer(nvml, lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
    memory = _answer(nvml, lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total)
    return DeviceFacts(
        index=index,
        name=_answer(nvml, lambda: str(nvml.nvmlDeviceGetName(handle))),
        uuid=_answer(nvml, lambda: str(nvml.nvmlDeviceGetUUID(handle))),
        memory_bytes=None if memory is None else int(memory),
        power_limit_w=None if limit is None else limit / _MILLI,
    )


def _answer(nvml: Any, ask: Callable[[], Any]) -> Any | None:
    """None where this device or driver does not tell it."""
    try:
        return ask()
    except nvml.NVMLError:
        return None
