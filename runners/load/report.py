"""What a drive says of itself: how much of the plan it sent, why it ended, where the client was at fault."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runners.load.attempt import Attempt
from runners.load.lags import LagSeries, LagSummary
from runners.load.limits import StopReason, send_lag_ns
from runners.load.pace import StageSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveReport:
    """Counts are of requests but for ``attempts`` and ``ends``; times are CLOCK_MONOTONIC ns.

    offered = created + not_created: what a stop rule kept from being sent stays offered. ``stop_seen``
    is what the rule saw that stopped the sending, null where none did. ``ends`` counts the attempts by
    their end; those without one are under ``unfinalised``. ``drain_start_ns`` is when the plan had nothing
    more to send for some slot (closed loop) or at all (open loop), or a rule stopped the sending; null if
    the drive ended before. ``times_error_ns`` bounds what its times may be off by: above 0 only where
    another clock stamped some of them.
    """

    segment: str
    offered: int
    created: int
    not_created: int
    attempts: int
    ends: dict[str, int]
    unfinalised: int
    stop_reason: StopReason
    stop_seen: str | None
    stages: tuple[StageSpan, ...]
    origin_ns: int
    first_sent_ns: int | None
    last_sent_ns: int | None
    drain_start_ns: int | None
    ended_ns: int
    client_limited: bool
    client_limits: tuple[str, ...]  # one sentence each; empty unless client_limited
    loop_lag: LagSummary
    send_lag: LagSummary
    regenerations: int = 0  # requests of no plan: an answer without its form, asked for again
    not_created_why: dict[str, int] = field(default_factory=dict)  # followers that never came
    assembly: LagSummary | None = None  # making bodies that hold replies; null: none was made
    times_error_ns: int = 0
    workers: tuple[dict[str, Any], ...] = ()  # each process's own error, where several drove

    @property
    def client_error(self) -> dict[str, Any]:
        """The part of ``clocks.json`` that says how far the client itself was off."""
        return {
            "loop_lag": dict(self.loop_lag),
            "send_lag": dict(self.send_lag),
            "client_limited": self.client_limited,
            "client_limits": list(self.client_limits),
            **({"workers": list(self.workers)} if self.workers else {}),
        }


class Tally:
    """Counts attempts as they become final."""

    def __init__(self, send_lag: LagSeries) -> None:
        self.send_lag = send_lag
        self.ends: Counter[str | None] = Counter()
        self.first_sent_ns: int | None = None
        self.last_sent_ns: int | None = None

    def add(self, attempt: Attempt) -> None:
        self.ends[attempt.end] += 1
        sent_ns = attempt.sent_ns
        if sent_ns is not None:
            if self.first_sent_ns is None or sent_ns < self.first_sent_ns:
                self.first_sent_ns = sent_ns
            if self.last_sent_ns is None or sent_ns > self.last_sent_ns:
                self.last_sent_ns = sent_ns
        if attempt.due_ns is not None and attempt.created_ns is not None:
            self.send_lag.add(
                send_lag_ns(
                    scheduled_ns=attempt.due_ns,
                    created_ns=attempt.created_ns,
                    connect_start_ns=attempt.connect_start_ns,
                    connected_ns=attempt.connected_ns,
                    sent_ns=sent_ns,
                )
            )


def client_limits(
    send_lag: LagSeries, *, max_send_lag_s: float, own_faults: Sequence[str]
) -> tuple[str, ...]:
    """Why the client, not the target, limited a drive; empty if it did not."""
    limits = []
    if late := send_lag.count_above(max_send_lag_s * 1e9):
        worst_s = (send_lag.largest or 0) / 1e9
        limits.append(
            f"{late} of {len(send_lag)} sends left more than load.max_send_lag_s = "
            f"{max_send_lag_s:g} s late (worst: {worst_s:.3f} s)"
        )
    if own_faults:
        limits.append(
            f"{len(own_faults)} connections failed for want of something on this machine "
            f"({own_faults[0]})"
        )
    return tuple(limits)
