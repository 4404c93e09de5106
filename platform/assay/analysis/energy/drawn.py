"""Energy over the load window, by meter: what requests and output tokens took, and what was drawn idle.

A meter is a set of devices that count alike: accelerator boards by NVML or amd-smi, processor packages by
RAPL. Neither sees the other, nor fans, memory or power supply, so each has figures of its own. A board that
counts its energy is read by its total; one that only states its power by the trapezoids under it.

The whole window's energy is divided by what came out of it: attempts that failed, were rejected or left have
no share taken off. Idle is the energy of the time in which no attempt was in flight, and stands apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.analysis.absence import Absent
from assay.analysis.quantities import NS_PER_S
from assay.analysis.resources.readings import Reading

ENERGY, RANGE, POWER = "energy_j", "energy_range_j", "power_w"
METRICS = (ENERGY, RANGE, POWER)


class Meter(StrEnum):
    accelerator = "accelerator"
    cpu_package = "cpu_package"

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Of the telemetry subjects that it counts."""
        return _PREFIXES[self]


_PREFIXES = {Meter.accelerator: ("nvml:", "amdsmi:"), Meter.cpu_package: ("rapl:",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """J of a meter in a window; ``idle_j`` while nothing was in flight. ``devices`` are its subjects."""

    meter: Meter
    devices: tuple[str, ...]
    counted_by: str
    window_s: float
    total_j: float
    idle_j: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """Energy drawn up to an instant, between the first and the last reading."""

    times_ns: NDArray[np.int64]
    joules: NDArray[np.float64]

    def between(self, from_ns: int, to_ns: int) -> float | None:
        if from_ns < self.times_ns[0] or to_ns > self.times_ns[-1]:
            return None
        ends = np.interp([from_ns, to_ns], self.times_ns, self.joules)
        return float(ends[1] - ends[0])


def drawn(
    readings: Iterable[Reading],
    meter: Meter,
    window: tuple[int, int],
    levels: Sequence[tuple[int, int]],
) -> Drawn | Absent:
    """What a meter counted in ``window``. ``levels``: (time, attempts in flight from then on), in order."""
    by_device: dict[str, list[Reading]] = {}
    for reading in readings:
        if reading.subject.startswith(meter.prefixes) and reading.metric in METRICS:
            by_device.setdefault(reading.subject, []).append(reading)
    if not by_device:
        return Absent(f"no reading of a meter {', '.join(meter.prefixes)}")
    from_ns, to_ns = window
    total = idle = 0.0
    counted = set()
    for device, own in sorted(by_device.items()):
        curve, by = _curve(own)
        whole = curve.between(from_ns, to_ns) if curve is not None else None
        if curve is None or whole is None:
            return Absent(f"the readings of {device} do not span the window")
        total += whole
        idle += sum(curve.between(*gap) or 0.0 for gap in idle_spans(levels, window))
        counted.add(by)
    return Drawn(
        meter=meter,
        devices=tuple(sorted(by_device)),
        counted_by=", ".join(sorted(counted)),
        window_s=(to_ns - from_ns) / NS_PER_S,
        total_j=total,
        idle_j=idle,
    )


def idle_spans(levels: Sequence[tuple[int, int]], window: tuple[int, int]) -> list[tuple[int, int]]:
    """Parts of the window in which no attempt was in flight; before the first step of ``levels`` none was."""
    from_ns, to_ns = window
    steps = [(from_ns, 0), *levels, (to_ns, 0)]
    found = []
    for (since, level), (until, _) in pairwise(steps):
        start, end = max(since, from_ns), min(until, to_ns)
        if level == 0 and end > start:
            found.append((start, end))
    return found


def _curve(readings: Sequence[Reading]) -> tuple[_Curve | None, str]:
    """By the device's own total where it counts one, else by its power."""
    totals = sorted((r.t_ns, r.value) for r in readings if r.metric == ENERGY)
    if len(totals) > 1:
        most = max((r.value for r in readings if r.metric == RANGE), default=0.0)
        return _counted(totals, most), "its own counter"
    powers = sorted((r.t_ns, r.value) for r in readings if r.metric == POWER)
    return (_integrated(powers), "power, by trapezoids") if len(powers) > 1 else (None, "")


def _counted(totals: Sequence[tuple[int, float]], most: float) -> _Curve | None:
    """A total that fell has wrapped at ``most`` (at most once between two readings); None: it was reset."""
    times, values = np.array(totals, dtype=np.float64).T
    grown = np.diff(values)
    grown = np.where(grown < 0, grown + most, grown)
    if (grown < 0).any():
        return None
    return _Curve(times_ns=times.astype(np.int64), joules=np.concatenate([[0.0], np.cumsum(grown)]))


def _integrated(powers: Sequence[tuple[int, float]]) -> _Curve:
    times, watts = np.array(powers, dtype=np.float64).T
    grown = (watts[1:] + watts[:-1]) / 2 * np.diff(times) / NS_PER_S
    return _Curve(times_ns=times.astype(np.int64), joules=np.concatenate([[0.0], np.cumsum(grown)]))
