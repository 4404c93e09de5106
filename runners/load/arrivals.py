"""When requests are to leave, as pure functions of the declaration.

A closed loop has no times: request i belongs to slot i modulo the concurrency, and a slot sends its next
request when the last one has ended. Open loops have offsets in ns from the start of their segment.

Every draw comes from ``random.Random(seed).random()``: it gives the same sequence in every Python version;
other methods of Random may not.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

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
    """Arrivals of a Poisson process: gaps -ln(1 - u) / rate."""
    _check_rate(rate_per_s)
    draw = random.Random(seed).random
    offsets: list[int] = []
    at_s = 0.0
    for _ in range(requests):
        at_s += -math.log1p(-draw()) / rate_per_s
        offsets.append(round(at_s * NS_PER_S))
    return offsets


def gamma_offsets_ns(
    requests: int, *, rate_per_s: float, burstiness: float, seed: int
) -> list[int]:
    """Gaps from a gamma distribution of mean 1 / rate and shape ``burstiness``.

    Their coefficient of variation is burstiness ** -0.5: 0.25 gives a cv of 2, 4 one of 0.5; 1 is the
    Poisson process, draw for draw.
    """
    _check_rate(rate_per_s)
    if not math.isfinite(burstiness) or burstiness <= 0:
        raise _refused("load.burstiness", burstiness, "a number above 0")
    if burstiness == 1:
        return poisson_offsets_ns(requests, rate_per_s=rate_per_s, seed=seed)
    draws = _gamma_draws(burstiness, random.Random(seed))
    offsets: list[int] = []
    at_s = 0.0
    for _ in range(requests):
        at_s += next(draws) / (burstiness * rate_per_s)
        offsets.append(round(at_s * NS_PER_S))
    return offsets


def burst_offsets_ns(requests: int) -> list[int]:
    """Everything at once."""
    return [0] * requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Offsets in order of time, and the spans [from, to) of the stages they came in, both in ns."""

    offsets_ns: tuple[int, ...]
    spans_ns: tuple[tuple[int, int], ...]


def ramp_arrivals(ramp: Mapping[str, Any], *, seed: int) -> Arrivals:
    """Arrivals at a rate that goes in a straight line from a to b over T, by its integral.

    N(t) = a t + (b - a) t^2 / (2 T). Evenly: request i leaves when N(t) = i, so the first at 0 if a is above
    0. Poisson: when N(t) reaches the i-th sum of unit exponentials.
    """
    piece = _Piece(
        from_per_s=ramp["from_rate_per_s"],
        to_per_s=ramp["to_rate_per_s"],
        duration_s=ramp["duration_s"],
    )
    levels = _levels(str(ramp["spacing"]), piece.arrivals, random.Random(seed))
    end_ns = round(piece.duration_s * NS_PER_S)
    return Arrivals(
        offsets_ns=tuple(_before(piece.time_s(n), end_ns) for n in levels),
        spans_ns=((0, end_ns),),
    )


def staged_arrivals(stages: Sequence[Mapping[str, Any]], *, seed: int) -> Arrivals:
    """Arrivals of stages of constant rate, one after the other.

    A stage of n requests lasts n / rate if they come evenly, else until its n-th arrival. Each stage starts
    anew at its beginning.
    """
    source = random.Random(seed)
    offsets: list[int] = []
    spans: list[tuple[int, int]] = []
    start_ns = 0
    for stage in stages:
        found, length_ns = _stage(stage, source)
        offsets += [start_ns + offset for offset in found]
        spans.append((start_ns, start_ns + length_ns))
        start_ns += length_ns
    return Arrivals(offsets_ns=tuple(offsets), spans_ns=tuple(spans))


def _stage(stage: Mapping[str, Any], source: random.Random) -> tuple[list[int], int]:
    rate, spacing, count = stage["rate_per_s"], str(stage["spacing"]), stage["requests"]
    if count is None:
        piece = _Piece(from_per_s=rate, to_per_s=rate, duration_s=stage["duration_s"])
        length_ns = round(piece.duration_s * NS_PER_S)
        levels = _levels(spacing, piece.arrivals, source)
        return [_before(piece.time_s(n), length_ns) for n in levels], length_ns
    if spacing == _EVEN:
        return constant_offsets_ns(count, rate_per_s=rate), round(count * NS_PER_S / rate)
    at_s, offsets = 0.0, []
    for _ in range(count):
        at_s += -math.log1p(-source.random()) / rate
        offsets.append(round(at_s * NS_PER_S))
    return offsets, offsets[-1] + 1


_EVEN = "even"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A stretch of time with a rate that goes in a straight line."""

    from_per_s: float
    to_per_s: float
    duration_s: float

    @property
    def arrivals(self) -> Fraction:
        """The rate's integral over the whole piece, exact for the decimals as they were written."""
        a, b, t = (Fraction(str(v)) for v in (self.from_per_s, self.to_per_s, self.duration_s))
        return (a + b) / 2 * t

    def time_s(self, arrivals: float) -> float:
        """When the integral reaches ``arrivals``: the positive root, in the form that loses no digits."""
        if arrivals == 0 and self.from_per_s == 0:
            return 0.0
        slope = (self.to_per_s - self.from_per_s) / self.duration_s
        square = max(self.from_per_s**2 + 2 * slope * arrivals, 0.0)
        return 2 * arrivals / (self.from_per_s + math.sqrt(square))


def _levels(spacing: str, arrivals: Fraction, source: random.Random) -> Iterator[float]:
    """The values of the rate's integral, below its end, at which a request leaves."""
    if spacing == _EVEN:
        yield from range(math.ceil(arrivals))
        return
    level = -math.log1p(-source.random())
    while level < arrivals:
        yield level
        level += -math.log1p(-source.random())


def _before(at_s: float, end_ns: int) -> int:
    """In ns, and inside the stage that it belongs to whatever rounding does."""
    return min(round(at_s * NS_PER_S), end_ns - 1)


def _gamma_draws(shape: float, source: random.Random) -> Iterator[float]:
    """Gamma(shape, 1) by Marsaglia and Tsang (2000), https://doi.org/10.1145/358407.358414.

    For a shape below 1: a draw of shape + 1 times u ** (1 / shape).
    """
    draw, normal = source.random, NormalDist()
    d = (shape if shape >= 1 else shape + 1) - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal.inv_cdf(max(draw(), _LEAST))
        v = (1 + c * x) ** 3
        if v <= 0 or math.log(max(draw(), _LEAST)) >= x * x / 2 + d - d * v + d * math.log(v):
            continue
        yield d * v if shape >= 1 else d * v * draw() ** (1 / shape)


_LEAST = 2.0**-54  # random() may be 0, where neither a logarithm nor a normal quantile is finite


def _check_rate(rate_per_s: float) -> None:
    if not math.isfinite(rate_per_s) or rate_per_s <= 0:
        raise _refused("load.rate_per_s", rate_per_s, "a number above 0")


def _refused(field: str, seen: float, allowed: str) -> Refused:
    return Refused(
        Finding(field=field, seen=str(seen), allowed=allowed, remedy="Correct the load.")
    )
