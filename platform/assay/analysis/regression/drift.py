"""Slow drift: no single step is worth a finding, the sum of them is.

Theil-Sen's slope over the starts since a reference that somebody signed off, and Kendall's tau for whether
there is a trend at all. A rolling baseline follows a drift and never sees it; the reference stands still.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_DRIFT = 0.03  # relative to the reference's level, over the whole stretch
TREND_P = 0.001
FEWEST_STARTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """``change`` is relative, from the reference to the end of the fitted line; ``p`` of Kendall's tau."""

    change: float
    slope: float  # of the metric, a start
    p: float
    starts: int

    @property
    def is_one(self) -> bool:
        return self.p < TREND_P and abs(self.change) > LEAST_DRIFT


def drift(reference_level: float, since: Sequence[float]) -> Drift | None:
    """None with fewer than ten starts: a trend of so few is anybody's guess."""
    n = len(since)
    if n < FEWEST_STARTS:
        return None
    from scipy import stats  # half a second, which every worker and web process would pay

    places = range(n)
    slope = float(stats.theilslopes(since, places).slope)
    end = statistics.median(since) + slope * (n - 1) / 2
    return Drift(
        change=(end - reference_level) / abs(reference_level),
        slope=slope,
        p=float(stats.kendalltau(places, since).pvalue),
        starts=n,
    )
