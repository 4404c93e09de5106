"""Is the load one that can be offered: a closed loop by workers, or an open loop by rate, never both?"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.checks import load_limits, load_profiles
from experiments.checks.policy import Policy
from experiments.errors import Finding

MAX_CONCURRENCY = 100_000
# The fields that pace a load, and which of them each kind uses; the others stay null (stages: none).
PACING = ("concurrency", "rate_per_s", "burstiness", "ramp", "stages", "trace")
USES: Mapping[str, tuple[str, ...]] = {
    "closed": ("concurrency",),
    "constant": ("rate_per_s",),
    "poisson": ("rate_per_s",),
    "gamma": ("rate_per_s", "burstiness"),
    "burst": (),
    "ramp": ("ramp",),
    "staged": ("stages",),
    "trace": ("trace",),
}


def check(document: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    """Everything that is wrong with ``load``, and with ``evidence`` beside it."""
    load = document["load"]
    yield from _pacing(load)
    yield from load_profiles.check(document, policy)
    yield from _thinking(load)
    yield from load_limits.check(load, document["contract"])
    yield from _evidence(document["evidence"])


def _pacing(load: Mapping[str, Any]) -> Iterator[Finding]:
    kind, uses = str(load["kind"]), USES[str(load["kind"])]
    here = {"closed": "in a closed loop", "staged": "with load.kind staged"}
    for name in PACING:
        if name not in uses and load[name] not in (None, []):
            seen = "declared" if isinstance(load[name], Mapping | list) else load[name]
            remedy = f"It belongs to load kinds {', '.join(k for k in USES if name in USES[k])}."
            yield _wrong(
                f"load.{name}", seen, f"null {here.get(kind, f'in an open loop ({kind})')}", remedy
            )
    concurrency, rate = load["concurrency"], load["rate_per_s"]
    if "concurrency" in uses and (concurrency is None or not 1 <= concurrency <= MAX_CONCURRENCY):
        yield _wrong(
            "load.concurrency", concurrency, f"1 to {MAX_CONCURRENCY}", "Say how many workers send."
        )
    if "rate_per_s" in uses and not _above_zero(rate):
        yield _wrong("load.rate_per_s", rate, "a number above 0", "Say how many requests a second.")
    if "burstiness" in uses and not _above_zero(load["burstiness"]):
        remedy = "It is the shape of the gaps: 1 is a Poisson process, less comes in bursts."
        yield _wrong("load.burstiness", load["burstiness"], "a number above 0", remedy)


def _thinking(load: Mapping[str, Any]) -> Iterator[Finding]:
    think_s, kind, cv = load["think_time_s"], load["think_time"], load["think_cv"]
    if not 0 <= think_s < math.inf:
        yield _wrong("load.think_time_s", think_s, "0 or above", "Time cannot run backwards.")
    elif think_s and not is_closed(load):
        yield _wrong("load.think_time_s", think_s, "0 in an open loop", "Only workers think.")
    if kind != "constant" and not think_s:
        yield _wrong("load.think_time", kind, "constant without a think time", "Give a mean.")
    if kind == "lognormal" and not _above_zero(cv):
        yield _wrong("load.think_cv", cv, "above 0 with lognormal think times", "Say the spread.")
    if kind != "lognormal" and cv is not None:
        yield _wrong("load.think_cv", cv, f"null with {kind} think times", "Leave it out.")


def is_closed(load: Mapping[str, Any]) -> bool:
    """A closed loop by workers, or stages of them."""
    stages = load["stages"] if load["kind"] == "staged" else ()
    return bool(load["kind"] == "closed" or any(s["concurrency"] is not None for s in stages))


def _above_zero(value: float | None) -> bool:
    return value is not None and 0 < value < math.inf


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
