"""What was read of accelerator boards while a run was measured: one entry by device and quantity.

A quantity that a device does not tell is an entry with its reason. Readings are spread over the measured
phase; a median or a most is taken of what was read, not of what happened between two readings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from assay.analysis.resources.documents import ResourceEntry
from assay.analysis.resources.readings import Reading, Window

_SOURCES = {"nvml:": "NVML, measured phase", "amdsmi:": "amd-smi, measured phase"}
PREFIXES = tuple(_SOURCES)
PROCESS_MEMORY = "process_memory_bytes"
# metric -> item, unit, how it is summed up
_ITEMS: Mapping[str, tuple[str, str, Callable[[Sequence[float]], float] | None]] = {
    "power_w": ("power, median", "W", median),
    "sm_mhz": ("clock of the multiprocessors, median", "MHz", median),
    "memory_mhz": ("clock of the memory, median", "MHz", median),
    "memory_used_bytes": ("memory in use, most", "byte", max),
    "busy_share": ("time in which a kernel ran, median", "1", median),
    "throttle_bits": ("clock event reasons of NVML, all bits seen", "1", None),
    "uncorrected_ecc_errors": ("uncorrected ECC errors, most", "1", max),
}
METRICS = (*_ITEMS, PROCESS_MEMORY)


def accelerator_entries(
    facts: Mapping[str, Mapping[str, Any]] | None,
    readings: Sequence[Reading],
    window: Window | None,
) -> list[ResourceEntry]:
    own = [
        r for r in readings if r.subject.startswith(PREFIXES) and window and window.holds(r.t_ns)
    ]
    devices = sorted({r.subject for r in own})
    if not devices:
        return [_unknown("readings", _why_none(facts))]
    return [entry for device in devices for entry in _of_device(device, own)]


def others_on_devices(readings: Sequence[Reading], window: Window | None) -> ResourceEntry | None:
    """Most memory that processes beside the engine's held on its devices; None without readings of any.

    ``engine`` rows of the telemetry name the engine's own processes.
    """
    if window is None:
        return None
    ours = {r.pid for r in readings if r.subject == "engine"}
    held = [
        r
        for r in readings
        if r.subject.startswith(PREFIXES) and r.metric == PROCESS_MEMORY and window.holds(r.t_ns)
    ]
    if not held:
        return None
    by_turn: dict[tuple[str, int], float] = {}
    for reading in held:
        at = (reading.subject, reading.t_ns)
        by_turn[at] = by_turn.get(at, 0.0) + (reading.value if reading.pid not in ours else 0.0)
    item = "device memory held by other processes, most"
    return _entry(item, "byte", max(by_turn.values()), _source(held[0].subject))


def _of_device(device: str, own: Sequence[Reading]) -> Iterator[ResourceEntry]:
    kind, _, number = device.partition(":")
    label = "AMD device" if kind == "amdsmi" else "device"
    source = _source(device)
    for metric, (item, unit, of) in _ITEMS.items():
        values = [r.value for r in own if r.subject == device and r.metric == metric]
        named = f"{label} {number}: {item}"
        if not values:
            yield _unknown(named, "this device or its driver does not tell it")
        elif of is None:
            bits = 0
            for value in values:
                bits |= int(value)
            yield _entry(named, unit, hex(bits), source)
        else:
            yield _entry(named, unit, of(values), source)


def _why_none(facts: Mapping[str, Mapping[str, Any]] | None) -> str:
    asked = [(facts or {}).get(name) or {} for name in ("nvml_devices", "amd_devices")]
    said = "; ".join(str(fact["reason"]) for fact in asked if fact.get("reason"))
    return said if said else "no reading of a device was kept in the measured phase"


def _source(subject: str) -> str:
    return _SOURCES[subject.partition(":")[0] + ":"]


def _entry(item: str, unit: str, observed: Any, source: str) -> ResourceEntry:
    return ResourceEntry(
        resource="accelerator", item=item, unit=unit, rated=None, observed=observed, assumed=None,
        source=source, reason=None,
    )  # fmt: skip


def _unknown(item: str, reason: str) -> ResourceEntry:
    return ResourceEntry(
        resource="accelerator", item=item, unit=None, rated=None, observed=None, assumed=None,
        source=None, reason=reason,
    )  # fmt: skip
