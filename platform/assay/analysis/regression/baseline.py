"""What a metric was before: its level and its spread from start to start.

One value a fresh engine start; what happens inside a start is no sample of it. The spread is the median
absolute deviation, 1.4826 times as large for a normal law, times n / (n - 0.8) for small n, and never below
a floor: twelve starts that agree by chance would make everything after them a finding.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.errors import AnalysisError

FEWEST_STARTS = 12
MAD_TO_SIGMA = 1.4826  # of a normal law
RELATIVE_FLOOR = 0.005
_SMALL_SAMPLE = 0.8


class TooFewStarts(AnalysisError):
    """The spread between starts is not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """``level`` and ``scale`` are in the metric's own unit; ``starts`` is how many the level is from."""

    level: float
    scale: float
    starts: int

    @property
    def relative_scale(self) -> float:
        return self.scale / abs(self.level)


def robust_scale(values: Sequence[float]) -> float:
    """1.4826 MAD n / (n - 0.8); 0 for values that are all the same."""
    middle = statistics.median(values)
    mad = statistics.median(abs(value - middle) for value in values)
    n = len(values)
    return MAD_TO_SIGMA * mad * n / (n - _SMALL_SAMPLE)


def baseline_of(values: Sequence[float]) -> Baseline:
    """Raises TooFewStarts below twelve, and for a level of zero, of which nothing is a share."""
    if len(values) < FEWEST_STARTS:
        raise TooFewStarts(
            field="baseline",
            seen=f"{len(values)} fresh starts",
            allowed=f"{FEWEST_STARTS} or more",
            remedy="Run the study again: each run is one start.",
        )
    level = statistics.median(values)
    if level == 0:
        raise TooFewStarts(
            field="baseline",
            seen="a level of 0",
            allowed="another number: nothing is a share of 0",
            remedy="Watch a metric that is not 0.",
        )
    scale = max(robust_scale(values), RELATIVE_FLOOR * abs(level))
    return Baseline(level=level, scale=scale, starts=len(values))


def accepted(former: Baseline, values: Sequence[float]) -> Baseline:
    """The baseline after somebody accepted a new level: ``values`` are the starts at it, at least one.

    The relative spread carries over, for a few starts know a level and no spread.
    """
    level = statistics.median(values)
    return Baseline(level=level, scale=former.relative_scale * abs(level), starts=len(values))
