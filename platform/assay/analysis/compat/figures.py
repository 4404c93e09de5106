"""The figures of a tool: its statistics by its percentile rule, each a number or the reason for none."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.compat.rows import Samples
from assay.analysis.ordered import Ordered
from assay.analysis.shelf import Column, Shelf

LINEAR = "linear between ranks (numpy)"
WEIGHTED = "first value whose share reaches q (weighted)"
_AT_ONCE = 1 << 17  # numbers
QUANTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of a tool's summary. ``n`` are its samples; ``percentile_rule`` only where it is one."""

    quantity: str  # ttft | tpot | itl | e2e | throughput.requests | ...
    statistic: str
    value: float | Absent
    n: int
    percentile_rule: str | None = None


def linear(quantity: str, values: Sequence[float] | Samples) -> list[Figure]:
    """Mean and percentiles as ``numpy.percentile`` gives them: linear between the ranks around (n - 1) q.

    No sample is no number here, whatever the tool prints (several print 0).
    """
    array = np.asarray(values, dtype=np.float64)
    return _linear(quantity, array.mean() if len(array) else 0.0, np.sort(array))


def linear_of_many(quantity: str, blocks: Iterable[Samples], shelf: Shelf) -> list[Figure]:
    """The same of samples that are too many to hold."""
    column = shelf.column("d")
    ordered = Ordered(_through(blocks, column), shelf)
    n = len(ordered)
    return _linear(quantity, _pairwise_sum(column, 0, n) / n if n else 0.0, ordered)


def _linear(quantity: str, mean: float, ordered: Samples | Ordered) -> list[Figure]:
    n = len(ordered)
    if not n:
        return none_of(quantity, Absent("no sample"), percentile_rule=LINEAR)
    found = [Figure(quantity=quantity, statistic="mean", value=float(mean), n=n)]
    found += [
        Figure(
            quantity=quantity,
            statistic=name,
            value=_between_ranks(ordered, q),
            n=n,
            percentile_rule=LINEAR,
        )
        for name, q in QUANTILES.items()
    ]
    return found


def _between_ranks(ordered: Samples | Ordered, q: float) -> float:
    """``numpy.percentile``'s value, rounded as there: from the nearer of the two ranks."""
    place = (len(ordered) - 1) * (100 * q / 100)
    low = math.floor(place)
    before, after = float(ordered[low]), float(ordered[min(low + 1, len(ordered) - 1)])
    share = place - low
    step = after - before
    return after - step * (1 - share) if share >= 0.5 else before + step * share


def _through(blocks: Iterable[Samples], column: Column) -> Iterator[Samples]:
    """Pass blocks on and put each into the column."""
    for block in blocks:
        column.extend(block)
        yield block


def _pairwise_sum(column: Column, start: int, stop: int) -> float:
    """``numpy.sum`` of all, halved as numpy halves it down to what is read at once."""
    n = stop - start
    if n <= _AT_ONCE:
        return float(np.add.reduce(column.read(start, stop)))
    middle = start + n // 2 - n // 2 % 8
    return _pairwise_sum(column, start, middle) + _pairwise_sum(column, middle, stop)


def weighted(
    quantity: str,
    values: Sequence[float] | Samples,
    weights: Sequence[float] | Samples | None = None,
) -> list[Figure]:
    """Mean and percentiles of a weighted distribution: the first value whose cumulated share reaches q.

    Equal values are one value with the sum of their weights. Without weights each sample weighs 1.
    """
    if not len(values):
        return none_of(quantity, Absent("no sample"), percentile_rule=WEIGHTED)
    array = np.asarray(values, dtype=np.float64)
    heavy = np.ones_like(array) if weights is None else np.asarray(weights, dtype=np.float64)
    unique, place = np.unique(array, return_inverse=True)
    mass = np.zeros_like(unique)
    np.add.at(mass, place, heavy)
    unique, mass = unique[mass > 0], mass[mass > 0]
    if not len(unique):
        return none_of(quantity, Absent("no sample with a weight"), percentile_rule=WEIGHTED)
    share = mass / mass.sum()
    reached = np.cumsum(share)
    n = len(array)
    found = [Figure(quantity=quantity, statistic="mean", value=float((unique * share).sum()), n=n)]
    for name, q in QUANTILES.items():
        # The last share may stay a rounding below 1.
        at = min(int(np.searchsorted(reached, q, side="left")), len(unique) - 1)
        found.append(
            Figure(
                quantity=quantity,
                statistic=name,
                value=float(unique[at]),
                n=n,
                percentile_rule=WEIGHTED,
            )
        )
    return found


def none_of(quantity: str, why: Absent, *, percentile_rule: str) -> list[Figure]:
    """The same rows, each absent for one reason."""
    return [
        Figure(
            quantity=quantity,
            statistic=name,
            value=why,
            n=0,
            percentile_rule=percentile_rule if name in QUANTILES else None,
        )
        for name in ("mean", *QUANTILES)
    ]


def rate(quantity: str, amount: float | Absent, length_s: float | Absent, *, n: int) -> Figure:
    """``amount`` over a length of time."""
    value: float | Absent
    if isinstance(amount, Absent):
        value = amount
    elif isinstance(length_s, Absent):
        value = length_s
    else:
        value = amount / length_s
    return Figure(quantity=quantity, statistic="rate", value=value, n=n)
