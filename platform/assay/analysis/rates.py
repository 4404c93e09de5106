"""Rates over a window and shares of all attempts: throughput, errors, in flight.

Every rate names its denominator. Prefill input, decode output, end-to-end output and single-sequence rates
are four metrics. More tokens per second says nothing on a latency target.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.columns import values
from assay.analysis.documents import Aggregate
from assay.analysis.errors import ClaimRefused
from assay.analysis.percentiles import share_interval
from assay.analysis.window import (
    Window,
    completed_in,
    mean_in_flight,
    rate_interval,
    tokens_arrived,
    tokens_of_completed,
    with_content,
)
from assay.analysis.wire.attempt import Attempt
from experiments.schema.workload import CallType
from runners.protocol.events import ClientState

DENOMINATORS = ("task", "request", "attempt")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevels:
    """Limits in s; None is not asked. By ttft.first_content.client, tpot.last_token and e2e.client."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    @property
    def asked(self) -> bool:
        return any(limit is not None for limit in (self.ttft_s, self.tpot_s, self.e2e_s))

    def of_calls(self, call_type: CallType) -> "ServiceLevels":
        """The levels that calls of this type can be held to: without tokens there is no TTFT and no TPOT."""
        if call_type is CallType.generation:
            return self
        return replace(self, ttft_s=None, tpot_s=None)

    def words(self) -> str:
        named = {"ttft": self.ttft_s, "tpot": self.tpot_s, "e2e": self.e2e_s}
        return ", ".join(f"{k} <= {v:g} s" for k, v in named.items() if v is not None)


def completion_claim(value: float, *, denominator: str | None) -> str:
    """A rate in words. A rate that does not name its unit of completion is refused."""
    if denominator not in DENOMINATORS:
        raise ClaimRefused(
            field="denominator of a rate",
            seen=repr(denominator),
            allowed=", ".join(DENOMINATORS),
            remedy="Say what is completed: '120 QPS' is no claim.",
        )
    return f"{value:g} {denominator}/s"


def outcome_shares(attempts: Sequence[Attempt], scope: Scope) -> list[Aggregate]:
    """Shares of attempts by final state. Rejected and cancelled attempts are in the denominator."""
    of = len(attempts)
    ended = values(attempts, "state")
    counted = {
        "error_rate": {ClientState.failed, ClientState.timeout},
        "rejection_rate": {ClientState.rejected},
        "cancel_rate": {ClientState.cancelled},
        "completion_rate": {ClientState.completed},
    }
    named = Scope(
        population=scope.population,
        denominator="attempts, retries included",
        perspective="client",
        clock_domain=scope.clock_domain,
        limited_by=scope.limited_by,
    )
    found = []
    for rule, states in counted.items():
        n = sum(count for state, count in ended.items() if state in states)
        share: float | Absent = n / of if of else Absent("no attempt")
        found.append(
            aggregate(
                rule, "ratio", "1", share, n=n, of=of, scope=named, interval=share_interval(n, of)
            )
        )
    return found


def throughputs(
    attempts: Sequence[Attempt],
    window: Window | Absent,
    scope: Scope,
    *,
    superseded: Collection[str] = (),
) -> list[Aggregate]:
    """Output tokens arrived, output and prompt tokens of completed attempts, requests: all per second.

    The answers of ``superseded`` requests were asked for again: their tokens are cost and no output.
    """
    output = attempts
    if superseded:
        output = [a for a in attempts if a.ids.request_id not in superseded]
    left_out = ", answers asked for again left out" if superseded else ""
    rules = (
        ("throughput.output_tokens", "token/s", "tokens that arrived in the window"),
        (
            "throughput.output_tokens.completed",
            "token/s",
            "tokens of attempts completed in the window",
        ),
        ("throughput.input_tokens", "token/s", "prompt tokens of attempts completed in the window"),
        ("throughput.requests", "request/s", "attempts completed in the window"),
        ("in_flight", "1", "attempts sent and not ended, time-weighted"),
    )
    found = []
    for rule, unit, population in rules:
        is_output = rule.startswith("throughput.output_tokens")
        n, value = _rate(rule, output if is_output else attempts, window)
        said = f"{population}, {scope.population}{left_out if is_output else ''}"
        named = in_window(window, said, scope)
        statistic = "mean" if rule == "in_flight" else "rate"
        known = None
        if statistic == "rate" and isinstance(window, Window):
            known = rate_interval(value, window)
        found.append(
            aggregate(
                rule, statistic, unit, value, n=n, of=len(attempts), scope=named, interval=known
            )
        )
    return found


def in_window(window: Window | Absent, population: str, scope: Scope) -> Scope:
    """The scope of a rate: what it is of, and the window that it is divided by."""
    return Scope(
        population=population,
        denominator="window" if isinstance(window, Absent) else f"window: {window.chosen}",
        perspective="client",
        clock_domain=scope.clock_domain,
        limited_by=scope.limited_by,
    )


def _rate(
    rule: str, attempts: Sequence[Attempt], window: Window | Absent
) -> tuple[int, float | Absent]:
    if isinstance(window, Absent):
        return 0, window
    if rule == "in_flight":
        return len(attempts), mean_in_flight(attempts, window)
    if rule == "throughput.output_tokens":
        tokens = tokens_arrived(attempts, window)
        n = with_content(attempts, window)
    else:
        n = int(np.count_nonzero(completed_in(attempts, window)))
        if rule == "throughput.requests":
            return n, n / window.length_s
        tokens = tokens_of_completed(attempts, window, prompt=rule.endswith("input_tokens"))
    if isinstance(tokens, Absent):
        return n, tokens
    return n, tokens / window.length_s
