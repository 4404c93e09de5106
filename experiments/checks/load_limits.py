"""Are the load's bounds ones that can be kept: waits, retries, and the rules that end the sending?"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

SHORTEST_SPAN_S = 2.0  # twenty blocks of at least two looks each

# Field of load.stop, its least value, the first that is too large, both in words. Null is always allowed.
BOUNDS = (
    ("max_duration_s", 1e-9, math.inf, "above 0, or null"),
    ("max_requests", 1, math.inf, "at least 1, or null"),
    ("max_errors", 0, math.inf, "0 or more, or null"),
    ("max_error_share", 0, 1, "0 up to, and without, 1, or null"),
    ("error_share_after", 1, math.inf, "at least 1"),
)


def check(load: Mapping[str, Any], contract: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``load.timeouts``, ``load.retry``, ``load.stop`` and the drain."""
    if not 0 <= load["drain_s"] < math.inf:
        yield _wrong("load.drain_s", load["drain_s"], "0 or above", "The wait is bounded.")
    if not load["max_send_lag_s"] > 0:
        yield _wrong("load.max_send_lag_s", load["max_send_lag_s"], "above 0", "Say the limit.")
    for key, value in load["timeouts"].items():
        if value is not None and not value > 0:
            remedy = "Use null for no time-out."
            yield _wrong(f"load.timeouts.{key}", value, "above 0, or null", remedy)
    yield from _retry(load["retry"], contract)
    yield from _stop(load["stop"], is_open=load["kind"] not in ("closed", "burst"))


def _retry(retry: Mapping[str, Any], contract: Mapping[str, Any]) -> Iterator[Finding]:
    if retry["count"] < 0 or not retry["backoff_s"] >= 0 or not 0 <= retry["jitter"] <= 1:
        allowed = "count and backoff_s from 0, jitter from 0 to 1"
        yield _wrong("load.retry", dict(retry), allowed, "Correct the retry rule.")
    if retry["count"] > 0 and not contract["retry_allowed"]:
        yield _wrong(
            "load.retry.count",
            retry["count"],
            "0, because contract.retry_allowed is false",
            "Allow retries in the contract or send none.",
        )
    most_s = retry["backoff_max_s"]
    if most_s is not None and not most_s >= retry["backoff_s"]:
        allowed = f"null, or at least backoff_s ({retry['backoff_s']:g})"
        yield _wrong("load.retry.backoff_max_s", most_s, allowed, "Raise it, or leave it out.")
    for rule, name in (("deadline", "deadline_s"), ("budget", "budget_ratio")):
        value = retry[name]
        if retry["give_up"] == rule and not (value is not None and value > 0):
            yield _wrong(f"load.retry.{name}", value, f"above 0 with give_up: {rule}", "Say it.")
        elif retry["give_up"] != rule and value is not None:
            allowed = f"null with give_up: {retry['give_up']}"
            yield _wrong(f"load.retry.{name}", value, allowed, f"Set give_up: {rule} to use it.")


def _stop(stop: Mapping[str, Any], *, is_open: bool) -> Iterator[Finding]:
    for name, least, below, allowed in BOUNDS:
        value = stop[name]
        if value is not None and not least <= value < below:
            yield _wrong(f"load.stop.{name}", value, allowed, "Correct the stop rule.")
    rule = stop["saturation"]
    if rule is None:
        return
    if not is_open:
        remedy = "A closed loop waits for answers, and a burst is all backlog: neither saturates."
        yield _wrong("load.stop.saturation", "declared", "null with this load.kind", remedy)
    if not SHORTEST_SPAN_S <= rule["span_s"] < math.inf:
        allowed = f"at least {SHORTEST_SPAN_S:g}"
        remedy = "Give several times the longest latency."
        yield _wrong("load.stop.saturation.span_s", rule["span_s"], allowed, remedy)
    for name in ("level", "growth_share"):
        if not 0 < rule[name] < 1:
            remedy = "Correct the stop rule."
            yield _wrong(f"load.stop.saturation.{name}", rule[name], "between 0 and 1", remedy)


def _wrong(field: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)
