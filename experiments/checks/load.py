"""Is the load one that can be offered: a closed loop by workers, or an open loop by rate, never both?"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

MAX_CONCURRENCY = 100_000


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``load``, and with ``contract`` and ``evidence`` beside it."""
    load = document["load"]
    yield from _closed(load) if load["kind"] == "closed" else _open(load)
    for key in ("think_time_s", "drain_s"):
        if load[key] < 0:
            yield _wrong(f"load.{key}", load[key], "0 or above", "Time cannot run backwards.")
    if load["max_send_lag_s"] <= 0:
        yield _wrong("load.max_send_lag_s", load["max_send_lag_s"], "above 0", "Say the limit.")
    for key, value in load["timeouts"].items():
        if value is not None and value <= 0:
            remedy = "Use null for no time-out."
            yield _wrong(f"load.timeouts.{key}", value, "above 0, or null", remedy)
    yield from _retry(load["retry"], document["contract"])
    yield from _evidence(document["evidence"])


def _closed(load: Mapping[str, Any]) -> Iterator[Finding]:
    concurrency = load["concurrency"]
    if load["rate_per_s"] is not None:
        yield _wrong(
            "load.rate_per_s",
            load["rate_per_s"],
            "null in a closed loop",
            "A closed loop has no rate of its own; use load=constant or load=poisson for a rate.",
        )
    if concurrency is None or not 1 <= concurrency <= MAX_CONCURRENCY:
        yield _wrong(
            "load.concurrency", concurrency, f"1 to {MAX_CONCURRENCY}", "Say how many workers send."
        )


def _open(load: Mapping[str, Any]) -> Iterator[Finding]:
    rate = load["rate_per_s"]
    if load["concurrency"] is not None:
        yield _wrong(
            "load.concurrency",
            load["concurrency"],
            f"null in an open loop ({load['kind']})",
            "An open loop does not wait for answers; use load=closed for a fixed concurrency.",
        )
    if rate is None or not math.isfinite(rate) or rate <= 0:
        yield _wrong("load.rate_per_s", rate, "a number above 0", "Say how many requests a second.")
    if load["think_time_s"] != 0:
        yield _wrong(
            "load.think_time_s", load["think_time_s"], "0 in an open loop", "Only workers think."
        )


def _retry(retry: Mapping[str, Any], contract: Mapping[str, Any]) -> Iterator[Finding]:
    if retry["count"] < 0 or retry["backoff_s"] < 0 or not 0 <= retry["jitter"] <= 1:
        allowed = "count and backoff_s from 0, jitter from 0 to 1"
        yield _wrong("load.retry", dict(retry), allowed, "Correct the retry rule.")
    if retry["count"] > 0 and not contract["retry_allowed"]:
        yield _wrong(
            "load.retry.count",
            retry["count"],
            "0, because contract.retry_allowed is false",
            "Allow retries in the contract or send none.",
        )


def _evidence(evidence: Mapping[str, Any]) -> Iterator[Finding]:
    for key in ("scrape_interval_s", "telemetry_interval_s", "anchor_interval_s"):
        if evidence[key] <= 0:
            yield _wrong(f"evidence.{key}", evidence[key], "above 0", "Say how often to look.")
    if evidence["stream_limit_bytes"] < 2**20:
        yield _wrong(
            "evidence.stream_limit_bytes",
            evidence["stream_limit_bytes"],
            "at least 1048576",
            "Head and tail of a stream need room.",
        )
    if evidence["content"] != "keep":
        yield _wrong(
            "evidence.content",
            evidence["content"],
            "keep",
            "This capture keeps content; leave it out of an export with --without-content instead.",
        )


def _wrong(field: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)
