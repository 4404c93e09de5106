"""How much of the machine went to processes that are no part of the run, from its own telemetry.

share = (busy time of the host - CPU time of client, engine, keeper and sampler) / CPU time of all processors,
over the measured window. Busy is user, nice, system, interrupts and steal; idle and I/O wait are not.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from assay.analysis.observed import ObservedQuantities

DISTURBED_SHARE = 0.1
_BUSY = frozenset(f"cpu_{kind}_s" for kind in ("user", "nice", "system", "irq", "softirq", "steal"))
_IDLE = frozenset({"cpu_idle_s", "cpu_iowait_s"})
_OWN = frozenset({"cpu_user_s", "cpu_system_s"})
HOST = "host"


def other_cpu_share(
    samples: Iterable[Mapping[str, Any]], *, from_ns: int, to_ns: int
) -> float | None:
    """Share of the host's CPU time that others took in the window; None without two host samples in it.

    ``samples`` are rows of the telemetry table: t_ns, subject, pid, metric, value (counters).
    """
    first: dict[tuple[str, int | None, str], float] = {}
    last: dict[tuple[str, int | None, str], float] = {}
    for row in samples:
        if from_ns <= row["t_ns"] <= to_ns and row["metric"] in _BUSY | _IDLE:
            key = (row["subject"], row["pid"], row["metric"])
            first.setdefault(key, row["value"])
            last[key] = row["value"]
    spent = {key: last[key] - first[key] for key in first}
    host = {metric: value for (who, _, metric), value in spent.items() if who == HOST}
    busy = sum(value for metric, value in host.items() if metric in _BUSY)
    total = busy + sum(value for metric, value in host.items() if metric in _IDLE)
    if total <= 0:
        return None
    own = sum(v for (who, _, metric), v in spent.items() if who != HOST and metric in _OWN)
    return min(1.0, max(0.0, (busy - own) / total))


def host_disturbed(
    samples: Iterable[Mapping[str, Any]], observed: ObservedQuantities
) -> str | None:
    """The sentence that others held the cores while the steps ran; None if they did not, or nobody looked."""
    if not observed.steps:
        return None
    from_ns = min(step.start_ns for step in observed.steps)
    to_ns = max(step.start_ns + step.duration_ns for step in observed.steps)
    share = other_cpu_share(samples, from_ns=from_ns, to_ns=to_ns)
    if share is None or share <= DISTURBED_SHARE:
        return None
    return f"other processes took {share:.0%} of the machine's CPU time in the measured window"
