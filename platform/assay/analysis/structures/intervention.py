"""Is a task slow outside the model? Only an intervention says so: the same runs again with a stubbed delay.

The dependency's time is changed by a known amount; if the tasks' wall time moves by that amount, the
dependency is a serial cost outside the model. If it moves by another amount, paths overlap or a segment is
defined wrongly, and that is the finding instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from assay.analysis.errors import ClaimRefused


class OutsideVerdict(StrEnum):
    accepted = "accepted"
    mismatch = "mismatch"  # overlap, or a definition problem


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayedRuns:
    """Wall times of the tasks of one run, s, and the dependency's injected delay in it."""

    delay_s: float
    wall_s: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideClaim:
    verdict: OutsideVerdict
    expected_s: float  # how much less wall time the changed delay should give
    seen_s: float
    why: str


def slow_outside(
    before: DelayedRuns, after: DelayedRuns | None, *, tolerance_s: float
) -> OutsideClaim:
    """Judge the claim by a repeat with another delay. Raises ClaimRefused without one.

    ``tolerance_s`` is what the means may differ by for other reasons (spread between repeats).
    """
    if after is None or after.delay_s == before.delay_s or not after.wall_s or not before.wall_s:
        raise ClaimRefused(
            field="slow outside the model",
            seen="no repeat with another delay"
            if after is None
            else "a repeat that changed nothing",
            allowed="two measured runs that differ in the dependency's fixed delay",
            remedy="Change boundary.external_dependencies.fixed_delay_s and measure again.",
        )
    expected = before.delay_s - after.delay_s
    seen = fmean(before.wall_s) - fmean(after.wall_s)
    facts = f"the delay changed by {expected:.3f} s, the tasks by {seen:.3f} s"
    if abs(seen - expected) <= tolerance_s:
        return OutsideClaim(
            verdict=OutsideVerdict.accepted, expected_s=expected, seen_s=seen, why=facts
        )
    why = f"{facts}: paths overlap, or the segment is defined wrongly"
    return OutsideClaim(verdict=OutsideVerdict.mismatch, expected_s=expected, seen_s=seen, why=why)
