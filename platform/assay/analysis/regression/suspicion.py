"""Whether the newest start gives reason to look closer. Cheap, and wrong for one flat start in eight.

A suspicion asks for fresh starts; only those confirm (``confirmation``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.regression.baseline import Baseline

START_BEYOND = 2.0  # scales
MEAN_BEYOND = 2.5  # standard errors


class Ground(StrEnum):
    start = "start"  # the newest start alone
    mean = "mean"  # all starts since the baseline together


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """``beyond`` is in scales (start) or standard errors (mean), with its sign; ``change`` is relative."""

    ground: Ground
    beyond: float
    change: float


def suspicion(baseline: Baseline, since: Sequence[float]) -> Suspicion | None:
    """``since`` are the starts after the baseline, oldest first; the last one is the newest."""
    newest = since[-1] - baseline.level
    if abs(newest) > START_BEYOND * baseline.scale:
        return Suspicion(
            ground=Ground.start,
            beyond=newest / baseline.scale,
            change=newest / abs(baseline.level),
        )
    shift = math.fsum(since) / len(since) - baseline.level
    error = baseline.scale * math.sqrt(1 / len(since) + 1 / baseline.starts)
    if len(since) > 1 and abs(shift) > MEAN_BEYOND * error:
        return Suspicion(
            ground=Ground.mean, beyond=shift / error, change=shift / abs(baseline.level)
        )
    return None
