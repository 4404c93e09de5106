"""Memory by phase and calibre: loading, warming up and steady are three numbers each, never one."""

from collections.abc import Sequence
from statistics import median

from assay.analysis.resources.documents import PhaseMemory
from assay.analysis.resources.readings import ENGINE, Reading, Window

ALLOCATED, RESERVED, DEVICE = "allocated", "reserved", "device"
_NO_WINDOW = "the run did not reach this phase"


def memory_by_phase(
    readings: Sequence[Reading],
    kv_allocated: Sequence[tuple[int, int]],
    windows: Sequence[Window],
    *,
    phases: Sequence[str],
) -> list[PhaseMemory]:
    """Three rows a phase. ``kv_allocated`` are (t_ns, bytes) as the engine's own events have them."""
    by_name = {window.name: window for window in windows}
    found = []
    for phase in phases:
        window = by_name.get(phase)
        found += [
            _row(phase, ALLOCATED, _allocated(kv_allocated, window), "engine_events.jsonl: memory",
                 "the engine states no allocation in this phase", window),
            _row(phase, RESERVED, [], None, "this engine keeps no pool that it reports", window),
            _row(phase, DEVICE, _resident(readings, window),
                 "telemetry.parquet: resident memory of the engine's processes",
                 "no reading of the engine's processes in this phase", window),
        ]  # fmt: skip
    return found


def _row(
    phase: str,
    calibre: str,
    values: Sequence[float],
    evidence: str | None,
    absent: str,
    window: Window | None,
) -> PhaseMemory:
    return PhaseMemory(
        phase=phase,
        calibre=calibre,
        samples=len(values),
        median_bytes=median(values) if values else None,
        max_bytes=max(values) if values else None,
        evidence=evidence if values else None,
        reason=None if values else _NO_WINDOW if window is None else absent,
    )


def _allocated(kv_allocated: Sequence[tuple[int, int]], window: Window | None) -> list[float]:
    if window is None:
        return []
    return [float(value) for t_ns, value in kv_allocated if window.holds(t_ns)]


def _resident(readings: Sequence[Reading], window: Window | None) -> list[float]:
    """The sum over the engine's processes at each reading; a process is read within one turn of the sampler.

    The n-th reading of each process belongs to the n-th turn counted from the end: processes start one after
    another and end together.
    """
    if window is None:
        return []
    by_pid: dict[int | None, list[float]] = {}
    for r in sorted(readings, key=lambda r: r.t_ns):
        if r.subject == ENGINE and r.metric == "rss_bytes" and window.holds(r.t_ns):
            by_pid.setdefault(r.pid, []).append(r.value)
    turns = max((len(values) for values in by_pid.values()), default=0)
    return [
        sum(values[-back] for values in by_pid.values() if len(values) >= back)
        for back in range(turns, 0, -1)
    ]
