"""When requests are to leave, as pure functions of the declaration.

A closed loop has no times: request i belongs to slot i modulo the concurrency, and a slot sends its next
request when the last one has ended. Open loops have offsets in ns from the start of their segment.
"""

import math
import random

from runners.protocol.errors import Finding, Refused

NS_PER_S = 1_000_000_000


def closed_slots(requests: int, *, concurrency: int) -> list[int]:
    """The slot that sends each request. Raises Refused for a concurrency below 1."""
    if concurrency < 1:
        raise _refused("load.concurrency", concurrency, "at least 1")
    return [i % concurrency for i in range(requests)]


def constant_offsets_ns(requests: int, *, rate_per_s: float) -> list[int]:
    """Offsets i / rate, each rounded by itself so that rounding never adds up. First at 0."""
    _check_rate(rate_per_s)
    return [round(i * NS_PER_S / rate_per_s) for i in range(requests)]


def poisson_offsets_ns(requests: int, *, rate_per_s: float, seed: int) -> list[int]:
    """Arrivals of a Poisson process: gaps -ln(1 - u) / rate with u from ``random.Random(seed).random()``.

    ``random()`` gives the same sequence in every Python version; other methods of Random may not.
    """
    _check_rate(rate_per_s)
    draw = random.Random(seed).random
    offsets: list[int] = []
    at_s = 0.0
    for _ in range(requests):
        at_s += -math.log1p(-draw()) / rate_per_s
        offsets.append(round(at_s * NS_PER_S))
    return offsets


def _check_rate(rate_per_s: float) -> None:
    if not math.isfinite(rate_per_s) or rate_per_s <= 0:
        raise _refused("load.rate_per_s", rate_per_s, "a number above 0")


def _refused(field: str, seen: float, allowed: str) -> Refused:
    return Refused(
        Finding(field=field, seen=str(seen), allowed=allowed, remedy="Correct the load.")
    )
