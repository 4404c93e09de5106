"""Costs on the host's side of a step, each on its own: none is inferred from how busy the host was.

preprocessing       received by the front end -> entered in the model loop's queue, a request
batch assembly      end of a step -> start of the next, where the next has a request that was there before
output              a token's event in the loop -> the write that carried it: here first token to first write
NUMA, quota, faults counters of the kernel over the measured phase

``coincides`` correlates (by rank) what a counter grew in an interval with the mean duration of the steps that
began in it. It is evidence in time, not of cause: that takes an intervention.
"""

import importlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean, median
from typing import Any

from assay.analysis.events import Fact
from assay.analysis.observed import ObservedStep
from assay.analysis.quantities import NS_PER_S
from assay.analysis.resources.documents import HostCost
from assay.analysis.resources.readings import (
    Growth,
    Reading,
    Window,
    engine_growth,
    host_growth,
)
from assay.analysis.server_record import ServerRecord

FEWEST_INTERVALS = 5  # a correlation of fewer says nothing


@dataclass(slots=True, kw_only=True)
class RequestCosts:
    """Gathered from server records one by one, in ns."""

    preprocessing_ns: list[int] = field(default_factory=list)
    output_ns: list[int] = field(default_factory=list)

    def take(self, record: ServerRecord | None) -> None:
        if record is None:
            return
        self._add(self.preprocessing_ns, record, Fact.received, Fact.queued)
        self._add(self.output_ns, record, Fact.first_token, Fact.written)

    @staticmethod
    def _add(into: list[int], record: ServerRecord, start: Fact, end: Fact) -> None:
        first, last = record.time_of(start), record.time_of(end)
        if first is not None and last is not None and last >= first:
            into.append(last - first)


def host_costs(
    requests: RequestCosts,
    steps: Sequence[ObservedStep],
    readings: Sequence[Reading],
    facts: Mapping[str, Mapping[str, Any]] | None,
    window: Window | None,
) -> list[HostCost]:
    """All costs in a fixed order; what no evidence shows is null with its reason."""
    return [
        _spans("preprocessing", requests.preprocessing_ns, "received to queued, a request"),
        _spans("batch assembly and scheduling", _between_steps(steps), "end of a step to the next"),
        _spans("output serialisation", requests.output_ns, "first token to its write, a request"),
        _cross_socket(facts),
        _counter("CPU quota limits", "s", readings, "cgroup_throttled_s", window, steps),
        _faults("page faults of the engine", readings, "page_faults", window, steps),
        _faults("major page faults of the engine", readings, "major_faults", window, steps),
    ]


def _between_steps(steps: Sequence[ObservedStep]) -> list[int]:
    """Gaps before steps in which a request decodes: it was in the loop before, so the loop had work to do.

    A step that only starts requests may follow idleness; the gap before it is left out.
    """
    return [
        gap
        for before, after in pairwise(sorted(steps, key=lambda s: s.start_ns))
        if after.decode_tokens
        and (gap := after.start_ns - (before.start_ns + before.duration_ns)) >= 0
    ]


def _spans(cost: str, values_ns: Sequence[int], evidence: str) -> HostCost:
    if not values_ns:
        return _absent(cost, "s", "the engine's record does not show both ends")
    ordered = sorted(values_ns)
    return HostCost(
        cost=cost,
        unit="s",
        n=len(ordered),
        median=median(ordered) / NS_PER_S,
        p99=ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] / NS_PER_S,
        total=sum(ordered) / NS_PER_S,
        coincides=None,
        evidence=f"engine_events.jsonl: {evidence}",
        reason=None,
    )


def _cross_socket(facts: Mapping[str, Mapping[str, Any]] | None) -> HostCost:
    nodes = ((facts or {}).get("numa_nodes") or {}).get("value")
    if nodes == 1:
        return _absent("NUMA access", "1", "one NUMA node: no access crosses sockets here")
    return _absent("NUMA access", "1", "no per-node counters are kept by this version")


def _faults(
    cost: str,
    readings: Sequence[Reading],
    metric: str,
    window: Window | None,
    steps: Sequence[ObservedStep],
) -> HostCost:
    grown = engine_growth(readings, metric, window) if window else []
    return _grown(cost, "1", grown, steps, f"telemetry.parquet: engine {metric}")


def _counter(
    cost: str,
    unit: str,
    readings: Sequence[Reading],
    metric: str,
    window: Window | None,
    steps: Sequence[ObservedStep],
) -> HostCost:
    grown = host_growth(readings, metric, window) if window else []
    return _grown(cost, unit, grown, steps, f"telemetry.parquet: host {metric}")


def _grown(
    cost: str, unit: str, grown: Sequence[Growth], steps: Iterable[ObservedStep], evidence: str
) -> HostCost:
    if not grown:
        return _absent(cost, unit, "no two readings of the measured phase")
    return HostCost(
        cost=cost,
        unit=unit,
        n=len(grown),
        median=median(growth.amount for growth in grown),
        p99=None,
        total=sum(growth.amount for growth in grown),
        coincides=_coincidence(grown, steps),
        evidence=evidence,
        reason=None,
    )


def _coincidence(grown: Sequence[Growth], steps: Iterable[ObservedStep]) -> dict[str, float] | None:
    """Spearman's correlation; None with too few intervals, or where nothing varied."""
    durations: dict[int, list[int]] = {}
    starts = [growth.from_ns for growth in grown]
    for step in steps:
        number = bisect_right(starts, step.start_ns) - 1
        if number >= 0 and step.start_ns < grown[number].to_ns:
            durations.setdefault(number, []).append(step.duration_ns)
    amounts = [grown[number].amount for number in sorted(durations)]
    means = [mean(durations[number]) for number in sorted(durations)]
    if len(amounts) < FEWEST_INTERVALS or len(set(amounts)) == 1 or len(set(means)) == 1:
        return None
    # Loaded where it is asked: it takes most of a second, and most readings have no such counter.
    found = importlib.import_module("scipy.stats").spearmanr(amounts, means)
    return {
        "spearman": float(found.statistic),
        "p_value": float(found.pvalue),
        "n": float(len(amounts)),
    }


def _absent(cost: str, unit: str, reason: str) -> HostCost:
    return HostCost(
        cost=cost, unit=unit, n=0, median=None, p99=None, total=None, coincides=None,
        evidence=None, reason=reason,
    )  # fmt: skip
