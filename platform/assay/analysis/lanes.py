"""Lanes: the intervals of one attempt on one side, in one clock domain, with the sum cross-check.

Server lane and client lane are rebuilt separately and never mixed. An interval nested in or overlapping
another one is left out of the sum and named. The sum must equal end minus start; if not, the lane is blocked.
Nothing is asserted about logged components in general: omitted waits make their sum smaller than the
end-to-end time, nested spans larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from assay.analysis.errors import ClaimRefused


class Origin(StrEnum):
    """measured: linkable start and end events; derived: expression and assumptions; simulated; unknown."""

    measured = "measured"
    derived = "derived"
    simulated = "simulated"
    unknown = "unknown"


# A dozen of these and of intervals are made for each attempt of a run: tuples take a third of the time.
class Mark(NamedTuple):
    """One instant on a lane: the event's name, its time, and where it was written down."""

    event: str
    t_ns: int
    clock_domain: str
    perspective: str
    evidence: str | None = None


class Interval(NamedTuple):
    name: str
    start_event: str
    end_event: str
    from_ns: int
    to_ns: int
    clock_domain: str
    perspective: str
    on_path: bool = True
    origin: Origin = Origin.measured

    @property
    def duration_ns(self) -> int:
        return self.to_ns - self.from_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSum:
    """``sum_ns`` over the accepted intervals, beside end minus start. ``ok`` is None for an empty lane."""

    accepted: tuple[Interval, ...]
    rejected: tuple[str, ...]
    sum_ns: int | None
    end_minus_start_ns: int | None
    ok: bool | None


def lane_of(
    marks: Sequence[Mark], names: dict[tuple[str, str], str] | None = None
) -> list[Interval]:
    """Consecutive intervals between marks of one lane, in time order.

    ``names`` maps (start event, end event) to a reader's word; else "start to end" is the name.
    Marks of two clock domains or perspectives in one lane are refused.
    """
    _one_lane({m.clock_domain for m in marks}, {m.perspective for m in marks})
    ordered = sorted(marks, key=attrgetter("t_ns"))
    known = names or {}
    return [
        Interval(
            name=known.get((a.event, b.event)) or f"{a.event} to {b.event}",
            start_event=a.event,
            end_event=b.event,
            from_ns=a.t_ns,
            to_ns=b.t_ns,
            clock_domain=a.clock_domain,
            perspective=a.perspective,
        )
        for a, b in pairwise(ordered)
    ]


def check_sum(intervals: Sequence[Interval], *, start_ns: int, end_ns: int) -> LaneSum:
    """Sum the intervals that overlap no earlier one and hold the sum against ``end_ns - start_ns``.

    Of two overlapping intervals the one that starts first (at equal starts, the longer one) is kept.
    """
    _one_lane({i.clock_domain for i in intervals}, {i.perspective for i in intervals})
    accepted: list[Interval] = []
    rejected: list[str] = []
    for interval in sorted(intervals, key=lambda i: (i.from_ns, -i.to_ns)):
        last = accepted[-1] if accepted else None
        if last is None or interval.from_ns >= last.to_ns:
            accepted.append(interval)
            continue
        nested = interval.to_ns <= last.to_ns
        rejected.append(
            f"{interval.name}: {'nested in' if nested else 'overlaps'} {last.name} "
            f"({interval.from_ns}..{interval.to_ns} ns against {last.from_ns}..{last.to_ns} ns)"
        )
    if not accepted:
        return LaneSum(
            accepted=(), rejected=tuple(rejected), sum_ns=None, end_minus_start_ns=None, ok=None
        )
    total = sum([i.to_ns - i.from_ns for i in accepted])
    return LaneSum(
        accepted=tuple(accepted),
        rejected=tuple(rejected),
        sum_ns=total,
        end_minus_start_ns=end_ns - start_ns,
        ok=total == end_ns - start_ns,
    )


def require_checked(lane: LaneSum) -> LaneSum:
    """The lane, or a refusal when its sum does not meet its cross-check."""
    if lane.ok is not True:
        raise ClaimRefused(
            field="lane sum",
            seen=f"{lane.sum_ns} ns",
            allowed=f"{lane.end_minus_start_ns} ns, the end event minus the start event",
            remedy="Find the omitted wait or the nested interval before the table is shown.",
        )
    return lane


def _one_lane(domains: set[str], perspectives: set[str]) -> None:
    if len(domains) > 1 or len(perspectives) > 1:
        raise ClaimRefused(
            field="lane",
            seen=f"clock domains {sorted(domains)}, perspectives {sorted(perspectives)}",
            allowed="one clock domain and one perspective in one lane",
            remedy="Rebuild client and server lanes separately.",
        )
