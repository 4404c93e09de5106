"""One measurement as it is stored: durations, rates with their spread, and the memory level of its data."""

from statistics import median, quantiles
from typing import Any

from runners.evidence.benchmark_patterns import Pattern
from runners.protocol import host

SHOWN = 20  # durations kept one by one


def entry(
    pattern: Pattern,
    values_ns: list[int],
    *,
    caches: list[host.CacheLevel],
    threads: int,
    beyond: str = "DRAM",
) -> dict[str, Any]:
    """Durations and, where the pattern has them, byte/s, FLOP/s and s per call.

    ``value`` is the median, ``best`` the fastest repetition, ``quartiles`` the first and third, ``spread``
    the lowest and highest value seen.
    """
    seconds = sorted(value / 1e9 for value in values_ns)
    rates: dict[str, dict[str, Any]] = {}
    for work, unit in ((pattern.bytes, "byte/s"), (pattern.flops, "FLOP/s")):
        if work:
            rates[unit] = _rate([work / s for s in reversed(seconds)])
            rates[unit]["best"] = rates[unit]["spread"][1]
    if pattern.calls:
        rates["s/call"] = _rate([s / pattern.calls for s in seconds])
        rates["s/call"]["best"] = rates["s/call"]["spread"][0]
    return {
        "name": pattern.name,
        "pattern": pattern.pattern,
        "dtype": pattern.dtype,
        "conditions": pattern.conditions,
        "timed": pattern.timed,
        "threads": threads,
        "working_set_bytes": pattern.working_set_bytes,
        "memory_level": memory_level(pattern.working_set_bytes, caches, beyond=beyond),
        "repetitions": len(values_ns),
        "durations_ns": values_ns if len(values_ns) <= SHOWN else None,
        "bytes": pattern.bytes,
        "flops": pattern.flops,
        "calls": pattern.calls,
        "rates": rates,
    }


def memory_level(
    working_set_bytes: int, caches: list[host.CacheLevel], *, beyond: str = "DRAM"
) -> str:
    """The level that can hold a working set, from the cache sizes that are reported.

    A set within twice the last cache is served partly by it, so both levels are named. A virtual machine
    reports the host's whole last-level cache although others use it too; the level says what it can be.
    """
    for cache in sorted(caches, key=lambda c: c["level"]):
        total = cache["bytes"] * cache["instances"]
        if working_set_bytes <= total:
            return f"L{cache['level']}"
    if caches:
        last = max(caches, key=lambda c: c["level"])
        if working_set_bytes <= 2 * last["bytes"] * last["instances"]:
            return f"L{last['level']} and {beyond}"
    return beyond


def _rate(rising: list[float]) -> dict[str, Any]:
    """Median, quartiles and extremes of values in rising order."""
    quartiles = quantiles(rising, n=4, method="inclusive") if len(rising) > 1 else rising * 3
    return {
        "value": median(rising),
        "quartiles": [quartiles[0], quartiles[2]],
        "spread": [rising[0], rising[-1]],
    }
