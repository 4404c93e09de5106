"""Percentiles and means with intervals, each by a named rule.

Percentile: nearest rank, the smallest observed value with at least that share of the samples at or below it,
so that a percentile is a value that happened. Interval of a percentile: order statistics (distribution-free,
binomial). Interval of a mean: moving-block bootstrap over samples in time order, seeded. Gaps within one
request hang together, so where a request gives many samples the request is the unit: blocks of requests for
the mean, Woodruff's interval with requests as clusters for a percentile (a bootstrap of a percentile would
sort all samples a thousand times to say the same). Interval of a share: Wilson. All of them describe the
spread within this start of the engine only; another start is another sample.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.clusters import Clusters
from assay.analysis.distributions import NORMAL_975, binomial_quantile, student_quantile
from assay.analysis.ordered import Ordered

PERCENTILE_RULE = "nearest_rank"
CONFIDENCE = 0.95
Floats = NDArray[np.float64]
BY_ORDER_STATISTICS = "95% order statistics, within this start"
BY_BLOCK_BOOTSTRAP = "95% block bootstrap over time, seeded, within this start"
BY_CLUSTERS = "95% Woodruff, clusters are requests, within this start"
BY_CLUSTER_BOOTSTRAP = "95% bootstrap of requests in blocks, within this start"
BY_WILSON = "95% Wilson, within this start"
_RESAMPLES = 1000
_MOST_DRAWN = 1 << 16  # block starts that are held at a time
_FEWEST_CLUSTERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    low: float
    high: float
    kind: str


def rank_of(q: float, n: int) -> int:
    """Nearest rank (from 1) of quantile ``q`` in ``n`` samples: ceil(q n)."""
    # The product is rounded first: 0.95 * 20 is 19.000000000000004 in binary and must be rank 19.
    return max(1, math.ceil(round(q * n, 9)))


def percentile(ordered: Sequence[float] | Floats | Ordered, q: float) -> float:
    """The ``q`` quantile (0 < q <= 1) of samples in ascending order, by nearest rank."""
    return float(ordered[rank_of(q, len(ordered)) - 1])


def samples_needed(q: float) -> int:
    """The fewest samples of which at least one lies beyond the ``q`` quantile: 1 / (1 - q)."""
    return math.ceil(round(1 / (1 - q), 9))


def percentile_interval(ordered: Sequence[float] | Floats | Ordered, q: float) -> Interval | None:
    """Two order statistics that cover the ``q`` quantile with at least 95 %; None with too few samples."""
    n = len(ordered)
    tail = (1 - CONFIDENCE) / 2
    # X_(l) <= quantile < X_(u) has probability P(l <= B < u) with B ~ Binomial(n, q).
    low = binomial_quantile(tail, n, q)
    high = binomial_quantile(1 - tail, n, q) + 1
    if low < 1 or high > n:
        return None
    return Interval(
        low=float(ordered[low - 1]), high=float(ordered[high - 1]), kind=BY_ORDER_STATISTICS
    )


def mean_interval(samples: Sequence[float] | Floats, *, seed: int) -> Interval | None:
    """Percentile interval of the mean from blocks of ceil(n^(1/3)) samples in time order; None under 8."""
    n = len(samples)
    if n < 8:
        return None
    values = np.asarray(samples, dtype=np.float64)
    length = math.ceil(n ** (1 / 3))
    blocks = math.ceil(n / length)
    # Sums of all circular blocks, so that a resample is a sum of `blocks` numbers, not of n.
    sums = _of_blocks(values, length)
    drawn = [sums[starts].sum(axis=1) for starts in _draws(n, blocks, seed)]
    means = np.sort(np.concatenate(drawn) / (blocks * length))
    tail = (1 - CONFIDENCE) / 2
    return Interval(
        low=percentile(means.tolist(), tail),
        high=percentile(means.tolist(), 1 - tail),
        kind=BY_BLOCK_BOOTSTRAP,
    )


def clustered_mean_interval(samples: Clusters, *, seed: int) -> Interval | None:
    """Interval of the mean of samples that requests gave; None under 8 requests.

    Blocks of ceil(m^(1/3)) requests in time order are drawn; a resample's mean is its sum over its count.
    """
    sizes = samples.sizes
    m = len(sizes)
    if m < _FEWEST_CLUSTERS:
        return None
    length = math.ceil(m ** (1 / 3))
    sums = _of_blocks(samples.sums(), length)
    counts = _of_blocks(sizes.astype(np.float64), length)
    draws = _draws(m, math.ceil(m / length), seed)
    means = np.concatenate([sums[at].sum(axis=1) / counts[at].sum(axis=1) for at in draws])
    means.sort()
    tail = (1 - CONFIDENCE) / 2
    return Interval(
        low=percentile(means.tolist(), tail),
        high=percentile(means.tolist(), 1 - tail),
        kind=BY_CLUSTER_BOOTSTRAP,
    )


def _draws(n: int, blocks: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Where the blocks of each resample begin, some resamples at a time: all at once grow with the run."""
    random = np.random.default_rng(seed)
    at_once = max(1, _MOST_DRAWN // blocks)
    for first in range(0, _RESAMPLES, at_once):
        yield random.integers(0, n, size=(min(at_once, _RESAMPLES - first), blocks))


def _of_blocks(values: Floats, length: int) -> Floats:
    """Sums of all circular blocks of ``length`` values."""
    wrapped = np.concatenate([values, values[: length - 1]])
    return np.convolve(wrapped, np.ones(length), mode="valid")


def clustered_percentile_interval(samples: Clusters, q: float) -> Interval | None:
    """Woodruff's interval: the samples at ranks q -+ t * s, s the cluster error of the share at the quantile.

    With request i giving n_i samples, k_i of them at or below the quantile, N = sum n_i and m requests:
    s^2 = m / (m - 1) * sum (k_i - n_i k / N)^2 / N^2. None under 8 requests, or where no rank lies beyond.
    Source: R. S. Woodruff, Confidence intervals for medians and other position measures, JASA 47 (1952).
    """
    sizes = samples.sizes
    m = len(sizes)
    if m < _FEWEST_CLUSTERS:
        return None
    ordered = samples.ordered
    n = len(ordered)
    hits = samples.up_to(percentile(ordered, q))
    if hits.sum() == n:  # nothing lies beyond: how far the quantile may reach is not known
        return None
    deviation = hits - sizes * (hits.sum() / n)
    error = math.sqrt(m / (m - 1) * float(np.sum(deviation**2))) / n
    reach = student_quantile(CONFIDENCE, m - 1) * error
    # The quantile is one of finitely many shares: half a sample is known no better than that.
    low, high = q - max(reach, 0.5 / n), q + max(reach, 0.5 / n)
    if low <= 0 or high > 1:
        return None
    return Interval(low=percentile(ordered, low), high=percentile(ordered, high), kind=BY_CLUSTERS)


def share_interval(hits: int, of: int) -> Interval | None:
    """Wilson's interval of the share ``hits / of``; None of nothing. Source: E. B. Wilson, JASA 22 (1927)."""
    if of < 1:
        return None
    z = NORMAL_975
    share = hits / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return Interval(low=max(0.0, middle - half), high=min(1.0, middle + half), kind=BY_WILSON)
