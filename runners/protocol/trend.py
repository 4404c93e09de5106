"""Whether a series goes up: the one rule by which the load client and the reading judge a backlog.

Mann-Kendall's test (Mann 1945, Kendall 1975) on the means of equal blocks of time says whether a rise is
more than chance; Theil's and Sen's slope (1950, 1968) says how much it rises. Block means of a queue hang
together, which makes the test alone too eager: whoever judges also asks for a rise that matters.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

BLOCKS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """``p`` is one-sided, for no rise; ``rise`` is the slope times the whole length, in the series' unit."""

    p: float
    rise: float


def upward(values: Sequence[float]) -> Trend:
    """The trend of values at equal distances. With fewer than four there is no evidence: p = 1.

    S = sum of sign(x_j - x_i), j > i; Var S = (n(n-1)(2n+5) - sum t(t-1)(2t+5)) / 18 over groups of t equal
    values; z = (S - 1) / sqrt(Var S) for S above 0. rise = median of (x_j - x_i) / (j - i), times n.
    """
    n = len(values)
    if n < 4:
        return Trend(p=1.0, rise=0.0)
    pairs = [(j - i, values[j] - values[i]) for i in range(n) for j in range(i + 1, n)]
    s = sum((step > 0) - (step < 0) for _, step in pairs)
    ties: dict[float, int] = {}
    for value in values:
        ties[value] = ties.get(value, 0) + 1
    spread = n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties.values())
    p = 1.0
    if s > 0 and spread > 0:
        p = 1 - NormalDist().cdf((s - 1) / math.sqrt(spread / 18))
    return Trend(p=p, rise=median(step / distance for distance, step in pairs) * n)
