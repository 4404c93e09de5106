"""What fresh starts say of a suspicion.

Two ways. A change that is many times the spread is seen again by three more starts. Any other is put to pairs
of fresh starts, one in the baseline's environment (A) and one in the new (B), interleaved A B B A so that a
machine that drifts meanwhile favours neither.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.regression.baseline import Baseline

LEAST_CHANGE = 0.03  # relative: below it nobody acts
FAR = 6.0  # scales, and
FAR_CHANGE = 0.05  # relative: what repeats may confirm without pairs
REPEATS = 3
PAIRS = 12
PAIR_ERRORS = 3.0  # standard errors of the mean difference, for the last word
_FEWEST_PAIRS = 4
_MIDDLE_PAIRS, _MIDDLE_ERRORS = 8, 4.2  # an early yes asks for more than the last word does
_HOPELESS_ERRORS = 1.5


class Side(StrEnum):
    baseline = "A"
    new = "B"


class Verdict(StrEnum):
    changed = "changed"
    unchanged = "unchanged"
    open = "open"  # more fresh starts are needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """``change`` is relative; ``error`` its standard error, null for a single fresh start."""

    verdict: Verdict
    change: float
    error: float | None
    starts: int  # fresh starts that it took


def order(pairs: int = PAIRS) -> Iterator[Side]:
    """A B, B A, A B, ...: each pair as it is to be run."""
    for number in range(pairs):
        first, second = (Side.baseline, Side.new) if number % 2 == 0 else (Side.new, Side.baseline)
        yield first
        yield second


def is_far(baseline: Baseline, value: float) -> bool:
    change = value - baseline.level
    return abs(change) > FAR * baseline.scale and abs(change) > FAR_CHANGE * abs(baseline.level)


def by_repeats(baseline: Baseline, first: float, repeats: Sequence[float]) -> Confirmation:
    """Three more starts after one that lies far off: all far off on the same side confirm.

    With one repeat, a start in twenty that goes astray would confirm in one of eighty series of five.
    """
    seen = [first, *repeats]
    change = (statistics.median(seen) - baseline.level) / abs(baseline.level)
    far = [(value > baseline.level) for value in seen if is_far(baseline, value)]
    agree = len(far) == len(seen) and len(set(far)) == 1
    verdict = Verdict.unchanged  # by this way: pairs have the last word
    if agree:
        verdict = Verdict.changed if len(repeats) >= REPEATS else Verdict.open
    return Confirmation(verdict=verdict, change=change, error=None, starts=len(repeats))


def by_pairs(baseline: Baseline, pairs: Sequence[tuple[float, float]]) -> Confirmation:
    """Of (A, B) so far. ``changed`` needs the mean difference beyond 3 % and 3 standard errors.

    The error is that of the pairs, and never less than what the baseline's spread lets expect: a few pairs
    that agree by chance prove nothing.

    It is looked at from the fourth pair on. Before the twelfth a change asks for more: 3 standard errors
    beyond the 3 %, or from the eighth pair on 4.2 in all; and the search ends where 3 % is 1.5 of them away.
    """
    n = len(pairs)
    if n < _FEWEST_PAIRS:
        return Confirmation(verdict=Verdict.open, change=math.nan, error=None, starts=2 * n)
    level = abs(math.fsum(a for a, _ in pairs) / n)
    differences = [(b - a) / level for a, b in pairs]
    change = math.fsum(differences) / n
    spread = math.sqrt(math.fsum((d - change) ** 2 for d in differences) / (n - 1))
    error = max(spread, baseline.relative_scale * math.sqrt(2)) / math.sqrt(n)
    return Confirmation(
        verdict=_verdict(change, error, pairs=n),
        change=change,
        error=error,
        starts=2 * n,
    )


def _verdict(change: float, error: float, *, pairs: int) -> Verdict:
    size = abs(change)
    if pairs >= PAIRS:
        shown = size > LEAST_CHANGE and size > PAIR_ERRORS * error
        return Verdict.changed if shown else Verdict.unchanged
    if size > LEAST_CHANGE + PAIR_ERRORS * error:
        return Verdict.changed
    if pairs >= _MIDDLE_PAIRS and size > max(LEAST_CHANGE, _MIDDLE_ERRORS * error):
        return Verdict.changed
    return Verdict.unchanged if size + _HOPELESS_ERRORS * error < LEAST_CHANGE else Verdict.open
