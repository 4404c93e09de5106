"""Telemetry as the ledger of resources reads it: running totals of host and processes, and phase windows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

HOST, ENGINE = "host", "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One row of the telemetry table; ``t_ns`` from the run's origin."""

    t_ns: int
    subject: str
    pid: int | None
    metric: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of a run, [from, to) in ns of the client's clock."""

    name: str
    from_ns: int
    to_ns: int

    def holds(self, t_ns: int) -> bool:
        return self.from_ns <= t_ns < self.to_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How much a running total grew between two readings of the host."""

    from_ns: int
    to_ns: int
    amount: float


def host_values(
    readings: Iterable[Reading], metric: str, window: Window
) -> list[tuple[int, float]]:
    """The host's readings of one metric in a window, in time order."""
    return sorted(
        (r.t_ns, r.value)
        for r in readings
        if r.subject == HOST and r.metric == metric and window.holds(r.t_ns)
    )


def host_growth(readings: Sequence[Reading], metric: str, window: Window) -> list[Growth]:
    """Growth of a total of the host between its readings in a window; empty with fewer than two."""
    values = host_values(readings, metric, window)
    return [
        Growth(from_ns=start, to_ns=end, amount=after - before)
        for (start, before), (end, after) in pairwise(values)
    ]


def engine_growth(readings: Sequence[Reading], metric: str, window: Window) -> list[Growth]:
    """Growth of a total over the engine's processes, between the host's readings.

    A process that was not there at both ends of an interval adds nothing to it.
    """
    by_pid: dict[int | None, list[tuple[int, float]]] = {}
    for r in readings:
        if r.subject == ENGINE and r.metric == metric and window.holds(r.t_ns):
            by_pid.setdefault(r.pid, []).append((r.t_ns, r.value))
    grown: dict[int, Growth] = {}
    for values in by_pid.values():
        for number, ((start, before), (end, after)) in enumerate(pairwise(sorted(values))):
            known = grown.get(number)
            amount = after - before + (known.amount if known else 0.0)
            grown[number] = Growth(
                from_ns=known.from_ns if known else start,
                to_ns=known.to_ns if known else end,
                amount=amount,
            )
    return [grown[number] for number in sorted(grown)]
