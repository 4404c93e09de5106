"""What the engine's record of requests shows between two scrapes, counted as its counters count."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from assay.analysis.events import EventRecord, Fact
from assay.analysis.observed import CountedStep, ObservedStep

COUNTED = (Fact.completed, Fact.cancelled, Fact.rejected, Fact.failed, Fact.preempted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The first and the last scrape, each with the time that it took; what falls into either is undecided."""

    first_ns: tuple[int, int]
    last_ns: tuple[int, int]

    def holds(self, t_ns: int) -> bool:
        return self.first_ns[1] < t_ns < self.last_ns[0]

    def may_hold(self, t_ns: int, error_ns: int) -> bool:
        """Within a scrape, or so near to one that the event's own error decides."""
        return any(
            start - error_ns <= t_ns <= end + error_ns
            for start, end in (self.first_ns, self.last_ns)
        )


@dataclass(slots=True, kw_only=True)
class RecordedCounts:
    """Takes every event of every phase once: warm-up and profile are in the counters too."""

    bounds: Bounds | None
    clock_domain: str
    counts: Counter[Fact] = field(default_factory=Counter)
    undecided: Counter[Fact] = field(default_factory=Counter)
    has_requests: bool = False

    def take(self, event: EventRecord) -> None:
        fact = event.fact
        if fact not in COUNTED or event.attempt_id is None or event.perspective == "client":
            self.has_requests |= fact is Fact.received
            return
        self.has_requests = True
        if self.bounds is None or event.clock_domain != self.clock_domain or fact is None:
            return
        if self.bounds.may_hold(event.t_ns, event.error_ns or 0):
            self.undecided[fact] += 1
        elif self.bounds.holds(event.t_ns):
            self.counts[fact] += 1


def prefill_tokens(steps: Iterable[ObservedStep | CountedStep], bounds: Bounds) -> tuple[int, int]:
    """Prompt tokens of the steps that ended between the scrapes, and of those that ended in one."""
    between = undecided = 0
    for step in steps:
        end_ns = step.start_ns + step.duration_ns
        if bounds.may_hold(end_ns, step.duration_ns):
            undecided += step.prefill_tokens
        elif bounds.holds(end_ns):
            between += step.prefill_tokens
    return between, undecided
