"""Who else used the host's cores while the run was measured, from the run's own telemetry.

others = (busy time of the host - CPU time of client, engine, keeper and sampler) / wall time, in cores; busy
is user, nice, system, interrupts and steal. A sample that a process did not live through counts it as others.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

import pyarrow.parquet as pq

from runners.protocol import layout
from runners.protocol.events import Phase, SessionEvent
from runners.protocol.host import DISTURBED_CORES
from runners.protocol.session_log import read

HOST = "host"
_NS_PER_S = 1_000_000_000
_STEAL = "cpu_steal_s"
_BUSY = frozenset(f"cpu_{kind}_s" for kind in ("user", "nice", "system", "irq", "softirq", "steal"))
_OWN = frozenset({"cpu_user_s", "cpu_system_s"})


class Disturbance(TypedDict):
    """Cores in use by others over the measured phase; null with a reason where nobody looked."""

    what: str
    samples: int
    others_cores_mean: float | None
    others_cores_max: float | None
    steal_cores_mean: float | None
    bound_cores: float
    disturbed: bool | None
    reason: str | None


class _Sample:
    """One reading of all counters: the host's time, and each process's CPU time by pid."""

    def __init__(self, t_ns: int) -> None:
        self.t_ns = t_ns
        self.busy_s = self.steal_s = 0.0
        self.own_s: dict[int, float] = {}


def read_disturbance(bundle: Path) -> Disturbance:
    """Over the measured phase, drain included, as the session log has it."""
    window = _measured(read(bundle / layout.SESSION))
    table = bundle / layout.TELEMETRY
    if window is None:
        return _absent("the run did not reach its measured phase")
    if not table.exists():
        return _absent("no telemetry was kept")
    rows = pq.read_table(table, filters=[("t_ns", ">=", window[0]), ("t_ns", "<=", window[1])])
    return disturbance(rows.to_pylist())


def disturbance(rows: Sequence[Mapping[str, Any]]) -> Disturbance:
    """From rows of the telemetry table: t_ns, subject, pid, metric, value (running totals)."""
    samples = list(_samples(rows))
    if len(samples) < 2:
        return _absent("fewer than two readings of the host in the measured phase")
    spans = [_others(a, b) for a, b in pairwise(samples)]
    first, last = samples[0], samples[-1]
    wall_s = (last.t_ns - first.t_ns) / _NS_PER_S
    mean = sum(cores * s for cores, s in spans) / wall_s
    return Disturbance(
        what="cores used by processes that are no part of the run, measured phase",
        samples=len(samples),
        others_cores_mean=mean,
        others_cores_max=max(cores for cores, _ in spans),
        steal_cores_mean=(last.steal_s - first.steal_s) / wall_s,
        bound_cores=DISTURBED_CORES,
        disturbed=mean > DISTURBED_CORES,
        reason=None,
    )


def _others(before: _Sample, after: _Sample) -> tuple[float, float]:
    """(cores in use by others, seconds) between two readings."""
    seconds = (after.t_ns - before.t_ns) / _NS_PER_S
    own = sum(s - before.own_s[pid] for pid, s in after.own_s.items() if pid in before.own_s)
    return max(0.0, (after.busy_s - before.busy_s - own) / seconds), seconds


def _samples(rows: Sequence[Mapping[str, Any]]) -> Iterator[_Sample]:
    """A host reading opens a sample; process readings up to the next one belong to it."""
    sample: _Sample | None = None
    for row in sorted(rows, key=lambda r: int(r["t_ns"])):
        if row["subject"] == HOST and row["metric"] in _BUSY:
            if sample is None or row["t_ns"] != sample.t_ns:
                if sample is not None:
                    yield sample
                sample = _Sample(row["t_ns"])
            sample.busy_s += row["value"]
            if row["metric"] == _STEAL:
                sample.steal_s = row["value"]
        elif sample is not None and row["subject"] != HOST and row["metric"] in _OWN:
            sample.own_s[row["pid"]] = sample.own_s.get(row["pid"], 0.0) + row["value"]
    if sample is not None:
        yield sample


def _measured(log: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
    """From the start of the measured phase to the end of its drain, or to the last row of a cut log."""
    starts = [
        r["t_ns"]
        for r in log
        if r["event"] == SessionEvent.phase_start and r["phase"] == Phase.measure
    ]
    if not starts:
        return None
    ends = [
        r["t_ns"] for r in log if r["event"] == SessionEvent.phase_end and r["phase"] == Phase.drain
    ]
    return starts[0], ends[0] if ends else log[-1]["t_ns"]


def _absent(reason: str) -> Disturbance:
    return Disturbance(
        what="cores used by processes that are no part of the run, measured phase",
        samples=0,
        others_cores_mean=None,
        others_cores_max=None,
        steal_cores_mean=None,
        bound_cores=DISTURBED_CORES,
        disturbed=None,
        reason=reason,
    )
