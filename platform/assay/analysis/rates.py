"""Rates over a window and shares of what was offered: throughput, goodput, errors, in flight.

Every rate names its denominator. Prefill input, decode output, end-to-end output and single-sequence rates
are four metrics. Goodput divides by the requests offered: an attempt that failed, was rejected or was
cancelled is in the denominator. More tokens per second says nothing on a latency target.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.documents import Aggregate
from assay.analysis.errors import ClaimRefused
from assay.analysis.percentiles import share_interval
from assay.analysis.quantities import NS_PER_S
from assay.analysis.window import (
    Window,
    any_content,
    mean_in_flight,
    tokens_arrived,
    tokens_of_completed,
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


def held_service_levels(tries: Sequence[Attempt], slo: ServiceLevels) -> bool | None:
    """Whether a request (its tries in order) was completed within every limit; None if that is not known.

    Times count from the first try's send, so that a retry does not hide the wait before it. At most one
    output token leaves TPOT undefined, and there is nothing to hold.
    """
    done = next((a for a in tries if a.state is ClientState.completed), None)
    if done is None:
        return False
    start = tries[0].sent_ns
    reply = done.reply
    verdicts: list[bool | None] = []
    if slo.ttft_s is not None:
        verdicts.append(_within(start, reply.first_content_ns, slo.ttft_s))
    if slo.e2e_s is not None:
        verdicts.append(_within(start, done.done_ns, slo.e2e_s))
    if slo.tpot_s is not None:
        verdicts.append(_tpot_within(done, slo.tpot_s))
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _within(start_ns: int | None, end_ns: int | None, limit_s: float) -> bool | None:
    if start_ns is None or end_ns is None:
        return None
    return end_ns - start_ns <= round(limit_s * NS_PER_S)


def _tpot_within(attempt: Attempt, limit_s: float) -> bool | None:
    tokens = attempt.output_tokens
    first, last = attempt.reply.first_content_ns, attempt.reply.last_content_ns
    if tokens is None or first is None or last is None:
        return None
    return tokens <= 1 or (last - first) <= round(limit_s * NS_PER_S) * (tokens - 1)


def goodput(
    attempts: Sequence[Attempt],
    slo: ServiceLevels,
    *,
    offered: int,
    window: Window | None,
    scope: Scope,
) -> list[Aggregate]:
    """Requests completed within the service levels, over the requests offered, and per second."""
    requests: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda a: (a.start_ns is None, a.start_ns)):
        requests.setdefault(attempt.ids.request_id or attempt.attempt_id, []).append(attempt)
    verdicts = [held_service_levels(tries, slo) for tries in requests.values()]
    good, unknown = verdicts.count(True), verdicts.count(None)
    share: float | Absent = good / offered if offered else Absent("nothing was offered")
    rate: float | Absent = Absent("no window")
    if unknown:
        share = rate = Absent(
            f"{unknown} of {offered} requests cannot be judged: counts are missing"
        )
    elif window is not None:
        rate = good / window.length_s
    named = Scope(
        population=f"offered requests, held: {slo.words()}",
        denominator="offered requests",
        perspective="client",
        clock_domain=scope.clock_domain,
        limited_by=scope.limited_by,
    )
    return [
        aggregate(
            "goodput.ratio",
            "ratio",
            "1",
            share,
            n=good,
            of=offered,
            scope=named,
            interval=share_interval(good, offered) if not unknown else None,
        ),
        aggregate("goodput.rate", "rate", "request/s", rate, n=good, of=offered, scope=named),
    ]


def outcome_shares(attempts: Sequence[Attempt], scope: Scope) -> list[Aggregate]:
    """Shares of attempts by final state. Rejected and cancelled attempts are in the denominator."""
    of = len(attempts)
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
        n = sum(a.state in states for a in attempts)
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
        found.append(aggregate(rule, statistic, unit, value, n=n, of=len(attempts), scope=named))
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
    completed = [
        a for a in attempts if a.state is ClientState.completed and window.holds(a.decided_ns)
    ]
    if rule == "in_flight":
        return len(attempts), mean_in_flight(attempts, window)
    if rule == "throughput.requests":
        return len(completed), len(completed) / window.length_s
    if rule == "throughput.output_tokens":
        tokens = tokens_arrived(attempts, window)
        n = sum(any_content(a.reply, window) for a in attempts)
    else:
        tokens = tokens_of_completed(attempts, window, prompt=rule.endswith("input_tokens"))
        n = len(completed)
    if isinstance(tokens, Absent):
        return n, tokens
    return n, tokens / window.length_s
