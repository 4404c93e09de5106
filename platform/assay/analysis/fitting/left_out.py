"""What cells did that the fit had not seen: each fitted cell left out in turn, judged by the rest.

Few cells say little of how far the next one lies from them. So the distances between cells' middles are
widened by Student's factor for their number, t(n - 1) sqrt(1 + 1 / n) over the normal quantile; the scatter
inside a cell stays as it was seen.
"""

import importlib
from collections.abc import Mapping, Sequence

import numpy as np

from assay.analysis.fitting.judging import PHASES, Judged
from assay.analysis.step_spread import quantiles

ONE_SIDED = 0.95  # of the usual range of 90 %


def spreads_of(left_out: Mapping[str, Sequence[Judged]]) -> dict[str, tuple[float, ...]]:
    """Quantiles of measured / predicted of cells left out, by phase, each cell with the same weight."""
    found = {}
    for phase in PHASES:
        cells = [
            [j.ratio for j in part if j.step.shape.phase == phase] for part in left_out.values()
        ]
        found[phase] = quantiles(widened([cell for cell in cells if cell]))
    return found


def widened(cells: Sequence[Sequence[float]]) -> list[list[float]]:
    """Ratios with their cells moved apart about the middle of all cells, on a log scale."""
    if len(cells) < 2:
        return [list(cell) for cell in cells]
    logs = [np.log(np.asarray(cell, dtype=float)) for cell in cells]
    middles = np.array([float(np.median(part)) for part in logs])
    centre, factor = float(middles.mean()), _factor(len(cells))
    return [
        [float(v) for v in np.exp(part + (factor - 1) * (middle - centre))]
        for part, middle in zip(logs, middles, strict=True)
    ]


def _factor(cells: int) -> float:
    stats = importlib.import_module("scipy.stats")
    student = float(stats.t.ppf(ONE_SIDED, cells - 1))
    return student * float(np.sqrt(1 + 1 / cells)) / float(stats.norm.ppf(ONE_SIDED))
