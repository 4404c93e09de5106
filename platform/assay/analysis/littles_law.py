"""Little's law as a check of a window: the mean number in flight is the rate times the mean time in flight.

Both sides come from the same attempts by different ways: one from how many were in flight at each instant,
the other from the attempts that ended in the window. They differ by what crosses the edges, and by more
where the window is not steady or an attempt's instants are wrong.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.columns import number
from assay.analysis.window import Window, in_flight
from assay.analysis.wire.attempt import Attempt

LEAST_TOLERANCE = 0.05
_EDGES = "edge effects: 3 sqrt(attempts in flight at the edges) / attempts that ended, at least 5 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class LittlesLaw:
    """Both sides, dimensionless; ``tolerance`` is relative to the larger one."""

    in_flight: float
    rate_times_latency: float
    tolerance: float
    ended: int

    @property
    def relative_difference(self) -> float:
        larger = max(self.in_flight, self.rate_times_latency)
        return abs(self.in_flight - self.rate_times_latency) / larger if larger else 0.0

    @property
    def holds(self) -> bool:
        return self.relative_difference <= self.tolerance

    def sentence(self) -> str:
        return (
            f"Little's law does not hold in the window: {self.in_flight:.3g} in flight in the mean, rate "
            f"times latency is {self.rate_times_latency:.3g}, {self.relative_difference:.1%} apart "
            f"(allowed: {self.tolerance:.1%}, by edge effects)"
        )


def littles_law(attempts: Sequence[Attempt], window: Window) -> LittlesLaw | Absent:
    """L = lambda W over the attempts that ended in the window, from send to final fact.

    Tolerance: an attempt in flight at an edge stands on one side in part only. In a steady window what the
    two edges add and take is alike in the mean and leaves chance alone, about the root of their number:
    three times that, over the attempts that ended, and at least 5 %.
    """
    sent, was_sent = number(attempts, "sent_ns")
    decided, has_ended = number(attempts, "decided_ns")
    inside = was_sent & has_ended & (window.from_ns <= decided) & (decided < window.to_ns)
    times = (decided - sent)[inside]
    if not len(times):
        return Absent("no attempt ended in the window")
    steps = in_flight(attempts)
    at_edges = steps.level_before(window.from_ns) + steps.level_before(window.to_ns)
    return LittlesLaw(
        in_flight=steps.mean(window),
        # sum of times / window length = (n / length) * (sum of times / n)
        rate_times_latency=int(times.sum()) / (window.to_ns - window.from_ns),
        tolerance=max(LEAST_TOLERANCE, 3 * math.sqrt(at_edges) / len(times)),
        ended=len(times),
    )


def littles_law_document(found: LittlesLaw | Absent) -> dict[str, Any]:
    """The check as JSON: both sides, how far apart they are and may be, and whether it holds."""
    if isinstance(found, Absent):
        return {"holds": None, "absent": found.reason}
    return {
        "in_flight": found.in_flight,
        "rate_times_latency": found.rate_times_latency,
        "relative_difference": found.relative_difference,
        "tolerance": found.tolerance,
        "tolerance_reason": _EDGES,
        "n": found.ended,
        "holds": found.holds,
        "absent": None,
    }
