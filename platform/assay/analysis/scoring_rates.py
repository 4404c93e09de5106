"""Rates of calls that produce no tokens: items, input tokens and requests per second of a window."""

from collections.abc import Sequence

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.documents import Aggregate
from assay.analysis.rates import in_window
from assay.analysis.window import Window, mean_in_flight, tokens_of_completed
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState


def scoring_throughputs(
    attempts: Sequence[Attempt], window: Window | Absent, scope: Scope
) -> list[Aggregate]:
    """Items, input tokens and requests of the calls that completed in the window, and calls in flight."""
    rules = (
        ("throughput.scoring.items", "item/s", "items of attempts completed in the window"),
        (
            "throughput.scoring.input_tokens",
            "token/s",
            "prompt tokens of attempts completed in the window",
        ),
        ("throughput.scoring.requests", "request/s", "attempts completed in the window"),
        ("in_flight", "1", "attempts sent and not ended, time-weighted"),
    )
    found = []
    for rule, unit, population in rules:
        n, value = _rate(rule, attempts, window)
        named = in_window(window, f"{population}, {scope.population}", scope)
        statistic = "mean" if rule == "in_flight" else "rate"
        found.append(aggregate(rule, statistic, unit, value, n=n, of=len(attempts), scope=named))
    return found


def _rate(
    rule: str, attempts: Sequence[Attempt], window: Window | Absent
) -> tuple[int, float | Absent]:
    if isinstance(window, Absent):
        return 0, window
    if rule == "in_flight":
        return len(attempts), mean_in_flight(attempts, window)
    completed = [
        a for a in attempts if a.state is ClientState.completed and window.holds(a.decided_ns)
    ]
    if rule.endswith("requests"):
        return len(completed), len(completed) / window.length_s
    if rule.endswith("items"):
        items = sum(a.reply.scored.items for a in completed if a.reply.scored is not None)
        return len(completed), items / window.length_s
    tokens = tokens_of_completed(attempts, window, prompt=True)
    return len(completed), tokens if isinstance(tokens, Absent) else tokens / window.length_s
