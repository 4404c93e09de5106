"""Percentiles and means with intervals, each by a named rule.

Percentile: nearest rank, the smallest observed value with at least that share of the samples at or below it,
so that a percentile is a value that happened. Interval of a percentile: order statistics (distribution-free,
binomial). Interval of a mean: moving-block bootstrap over samples in time order, seeded. Both describe the
spread within this start of the engine only; another start is another sample.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

PERCENTILE_RULE = "nearest_rank"
CONFIDENCE = 0.95
BY_ORDER_STATISTICS = "95% order statistics, within this start"
BY_BLOCK_BOOTSTRAP = "95% block bootstrap over time, seeded, within this start"
_RESAMPLES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    low: float
    high: float
    kind: str


def rank_of(q: float, n: int) -> int:
    """Nearest rank (from 1) of quantile ``q`` in ``n`` samples: ceil(q n)."""
    # The product is rounded first: 0.95 * 20 is 19.000000000000004 in binary and must be rank 19.
    return max(1, math.ceil(round(q * n, 9)))


def percentile(ordered: Sequence[float], q: float) -> float:
    """The ``q`` quantile (0 < q <= 1) of samples in ascending order, by nearest rank."""
    return float(ordered[rank_of(q, len(ordered)) - 1])


def samples_needed(q: float) -> int:
    """The fewest samples of which at least one lies beyond the ``q`` quantile: 1 / (1 - q)."""
    return math.ceil(round(1 / (1 - q), 9))


def percentile_interval(ordered: Sequence[float], q: float) -> Interval | None:
    """Two order statistics that cover the ``q`` quantile with at least 95 %; None with too few samples."""
    n = len(ordered)
    tail = (1 - CONFIDENCE) / 2
    # X_(l) <= quantile < X_(u) has probability P(l <= B < u) with B ~ Binomial(n, q).
    low = int(binom.ppf(tail, n, q))
    high = int(binom.ppf(1 - tail, n, q)) + 1
    if low < 1 or high > n:
        return None
    return Interval(
        low=float(ordered[low - 1]), high=float(ordered[high - 1]), kind=BY_ORDER_STATISTICS
    )


def mean_interval(samples: Sequence[float], *, seed: int) -> Interval | None:
    """Percentile interval of the mean from blocks of ceil(n^(1/3)) samples in time order; None under 8."""
    n = len(samples)
    if n < 8:
        return None
    values = np.asarray(samples, dtype=np.float64)
    length = math.ceil(n ** (1 / 3))
    blocks = math.ceil(n / length)
    # Sums of all circular blocks, so that a resample is a sum of `blocks` numbers, not of n.
    wrapped = np.concatenate([values, values[: length - 1]])
    sums = np.convolve(wrapped, np.ones(length), mode="valid")
    random = np.random.default_rng(seed)
    starts = random.integers(0, n, size=(_RESAMPLES, blocks))
    means = np.sort(sums[starts].sum(axis=1) / (blocks * length))
    tail = (1 - CONFIDENCE) / 2
    return Interval(
        low=percentile(means.tolist(), tail),
        high=percentile(means.tolist(), 1 - tail),
        kind=BY_BLOCK_BOOTSTRAP,
    )
