"""Where a series changed its level, looking back. For the weekly look, not for an alarm.

PELT with the normal mean cost on values over their robust scale; a change that is smaller than what anybody
acts on is dropped. Source: R. Killick et al., JASA 107 (2012); ``ruptures``.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.analysis.regression.baseline import RELATIVE_FLOOR, robust_scale
from assay.analysis.regression.confirmation import LEAST_CHANGE

SHORTEST = 5
_PENALTY_PER_LOG_N = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """``at`` is the place of the first start of the new level; ``change`` is relative."""

    at: int
    before: float
    after: float
    change: float


def change_points(values: Sequence[float]) -> list[ChangePoint]:
    """In order; empty for a series of fewer than two stretches of five starts."""
    n = len(values)
    if n < 2 * SHORTEST:
        return []
    import ruptures  # with scipy a second, which every worker and web process would pay

    # Steps would widen the spread of the values themselves; differences of neighbours hold each step once.
    steps = np.diff(np.asarray(values, dtype=np.float64))
    scale = robust_scale(steps.tolist()) / np.sqrt(2)
    level = abs(statistics.median(values))
    signal = np.asarray(values, dtype=np.float64) / max(scale, RELATIVE_FLOOR * level)
    ends = ruptures.Pelt(model="l2", min_size=SHORTEST, jump=1).fit(signal)
    found = ends.predict(pen=_PENALTY_PER_LOG_N * np.log(n))
    edges = _merged(values, [0, *found])
    levels = [statistics.median(values[a:b]) for a, b in pairwise(edges)]
    return [
        ChangePoint(at=at, before=before, after=after, change=_change(before, after))
        for at, before, after in zip(edges[1:], levels, levels[1:], strict=False)
    ]


def _merged(values: Sequence[float], edges: list[int]) -> list[int]:
    """Without the edges whose levels lie too near to each other, the smallest change first: what is left of
    two stretches is one, with a level of its own.
    """
    while len(edges) > 2:
        levels = [statistics.median(values[a:b]) for a, b in pairwise(edges)]
        changes = [abs(_change(before, after)) for before, after in pairwise(levels)]
        smallest = min(range(len(changes)), key=changes.__getitem__)
        if changes[smallest] > LEAST_CHANGE:
            break
        edges = [edge for n, edge in enumerate(edges) if n != smallest + 1]
    return edges


def _change(before: float, after: float) -> float:
    """Relative; 0 from a level of 0, of which nothing is a share."""
    return (after - before) / abs(before) if before else 0.0
