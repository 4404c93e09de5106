"""Which of several versions brought a change: halve, measure fresh starts, halve again.

The change is known to lie between the first version (at the old level) and the last (at the new). A version
is counted to the side whose level its fresh starts are nearer to, and only when all of three, or four of
five, say so: a version between the two levels is no answer, and says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

FEWEST_STARTS, MOST_STARTS = 3, 5
_ENOUGH_OF_MOST = 4


class Side(StrEnum):
    good = "good"  # at the old level
    bad = "bad"  # at the new
    unclear = "unclear"
    open = "open"  # more fresh starts are needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    old: float
    new: float

    @property
    def middle(self) -> float:
        return (self.old + self.new) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectStep:
    """``ask`` is the version that needs a fresh start; null at the end. The change lies after ``last_good``
    and came with ``first_bad``; versions between the two gave no clear answer.
    """

    ask: str | None
    last_good: str
    first_bad: str
    unclear: tuple[str, ...]


def side_of(levels: Levels, values: Sequence[float]) -> Side:
    """Of one version's fresh starts so far."""
    n = len(values)
    if n < FEWEST_STARTS:
        return Side.open
    bad = sum((v > levels.middle) == (levels.new > levels.old) for v in values)
    if n < MOST_STARTS:
        if bad in (0, n):
            return Side.bad if bad else Side.good
        return Side.open
    if bad >= _ENOUGH_OF_MOST:
        return Side.bad
    return Side.good if n - bad >= _ENOUGH_OF_MOST else Side.unclear


def next_step(
    versions: Sequence[str],
    levels: Levels,
    values: Mapping[str, Sequence[float]],
    *,
    out: frozenset[str] = frozenset(),
) -> BisectStep:
    """``versions`` oldest first, both ends included and known; ``out`` are those that could not be run."""
    low, high = 0, len(versions) - 1
    unclear: list[str] = []
    while True:
        inside = [
            i for i in range(low + 1, high) if versions[i] not in out and versions[i] not in unclear
        ]
        if not inside:
            break
        middle = inside[len(inside) // 2]
        side = side_of(levels, values.get(versions[middle], ()))
        if side is Side.open:
            return BisectStep(
                ask=versions[middle],
                last_good=versions[low],
                first_bad=versions[high],
                unclear=tuple(unclear),
            )
        if side is Side.unclear:
            unclear.append(versions[middle])
        elif side is Side.bad:
            high = middle
        else:
            low = middle
    between = tuple(v for v in versions[low + 1 : high])
    return BisectStep(ask=None, last_good=versions[low], first_bad=versions[high], unclear=between)
