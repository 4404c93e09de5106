"""A difference between two configurations, with an interval only where fresh starts show their spread.

What happens inside one start of an engine says nothing of another start, so an interval within a start is
none of a difference. It takes two starts a side; with one each the difference stands alone.
"""

import importlib
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.percentiles import CONFIDENCE, Interval

ONE_START_EACH = "one start each: start-to-start spread unknown"
FEWEST_STARTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """``absolute`` is other minus reference in the metric's unit, ``relative`` over the reference.

    ``interval`` is of ``absolute``. Where there is none, ``no_interval`` says why.
    """

    absolute: float
    relative: float | None
    interval: Interval | None
    no_interval: str
    starts: tuple[int, int]


def difference(
    reference: Sequence[float], other: Sequence[float], *, fresh: tuple[int, int]
) -> Difference:
    """Of the means over starts. ``fresh`` counts the values of each side that are fresh starts."""
    before, after = math.fsum(reference) / len(reference), math.fsum(other) / len(other)
    interval, why = None, _why_none(fresh, (len(reference), len(other)))
    if not why:
        interval = welch(reference, other)
        why = "" if interval else "all starts gave the same value: their spread is not resolved"
    return Difference(
        absolute=after - before,
        relative=(after - before) / before if before else None,
        interval=interval,
        no_interval=why,
        starts=fresh,
    )


def _why_none(fresh: tuple[int, int], values: tuple[int, int]) -> str:
    if fresh != values:
        return "the engine was not started afresh for every run: start-to-start spread unknown"
    if fresh == (1, 1):
        return ONE_START_EACH
    if min(fresh) < FEWEST_STARTS:
        return f"{fresh[0]} and {fresh[1]} starts: start-to-start spread of one side unknown"
    return ""


def welch(reference: Sequence[float], other: Sequence[float]) -> Interval | None:
    """Interval of the difference of two means of unequal variances; None where nothing varies.

    (b - a) -+ t * sqrt(s_a^2 / n_a + s_b^2 / n_b), t with the Welch-Satterthwaite degrees of freedom. Source:
    B. L. Welch, The generalization of Student's problem, Biometrika 34 (1947). It assumes values of starts
    that are about normal, which few starts cannot show.
    """
    shares = [statistics.variance(values) / len(values) for values in (reference, other)]
    error = math.sqrt(math.fsum(shares))
    if not error:
        return None
    freedom = math.fsum(shares) ** 2 / math.fsum(
        share**2 / (len(values) - 1)
        for share, values in zip(shares, (reference, other), strict=True)
    )
    reach = student(freedom) * error
    middle = statistics.fmean(other) - statistics.fmean(reference)
    kind = f"95% Welch over the values of {len(reference)} and {len(other)} starts"
    return Interval(low=middle - reach, high=middle + reach, kind=kind)


def student(freedom: float) -> float:
    """The two-sided quantile of Student's t at the confidence of every interval."""
    special = importlib.import_module("scipy.special")  # a third of a second, not paid by imports
    return float(special.stdtrit(freedom, 1 - (1 - CONFIDENCE) / 2))
