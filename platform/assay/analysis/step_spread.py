"""How measured steps lie around their forecast: quantiles of measured / predicted, seen on other cells.

The ratios come from cells that the fit had not seen (each left out in turn), every cell with the same weight,
so that a long cell does not speak for the others. They widen a range; no estimate is multiplied by them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.devices.machine import Interval

DECODE, PROMPT = "decode", "prompt"
LEVELS = tuple(round(level / 200, 3) for level in range(1, 200))  # 0.005 to 0.995


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Quantiles of measured / predicted at ``LEVELS`` by phase, and the coverage that a range is to have."""

    ratios: Mapping[str, tuple[float, ...]]
    coverage: float

    def ends(self, phase: str) -> tuple[float, float]:
        """The two ratios that leave (1 - coverage) / 2 out on either side."""
        levels = (1 - self.coverage) / 2, (1 + self.coverage) / 2
        low, high = np.interp(levels, LEVELS, self.ratios[phase])
        return min(1.0, float(low)), max(1.0, float(high))

    def around(self, value: float, *, decodes: bool) -> Interval:
        low, high = self.ends(DECODE if decodes else PROMPT)
        return Interval(value=value, low=value * low, high=value * high)


def quantiles(cells: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Quantiles at ``LEVELS`` of the values of all cells, each cell weighing the same."""
    values = np.concatenate([np.asarray(cell, dtype=float) for cell in cells])
    weights = np.concatenate([np.full(len(cell), 1 / len(cell)) for cell in cells])
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) - weights[order] / 2
    return tuple(float(v) for v in np.interp(LEVELS, reached / weights.sum(), values[order]))
