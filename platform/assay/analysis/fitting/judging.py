"""How well fitted values explain steps: errors, coverage and the cell that fits worst, by side and phase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from assay.analysis.calibration import Errors
from assay.analysis.fitting.points import Step
from assay.analysis.residual.shares import wilson
from assay.analysis.step_spread import DECODE, PROMPT, Spread

PHASES = (DECODE, PROMPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A step beside what the fitted values predict for it, in seconds."""

    step: Step
    predicted_s: float

    @property
    def ratio(self) -> float:
        return self.step.measured_s / self.predicted_s

    @property
    def error(self) -> float:
        return abs(self.ratio - 1)


def judged(
    steps: Sequence[Step],
    amounts: Mapping[object, Mapping[str, float]],
    values: Mapping[str, float],
) -> list[Judged]:
    """Steps with their prediction: the sum of amounts times values. ``amounts`` is by shape."""
    return [
        Judged(
            step=step,
            predicted_s=sum(values[name] * a for name, a in amounts[step.shape].items()),
        )
        for step in steps
    ]


def errors_by_phase(found: Sequence[Judged], spread: Spread) -> dict[str, Errors]:
    """Distribution of relative errors, and how many steps lie in their range."""
    parts = {phase: [j for j in found if j.step.shape.phase == phase] for phase in PHASES}
    return {phase: _errors(part, spread.ends(phase)) for phase, part in parts.items() if part}


def cell_rows(found: Sequence[Judged], side: Mapping[str, str]) -> list[dict[str, Any]]:
    """Medians of each cell and phase, as the table of a calibration shows them."""
    alike: dict[tuple[str, str], list[Judged]] = {}
    for one in found:
        alike.setdefault((one.step.cell, one.step.shape.phase), []).append(one)
    rows = []
    for (cell, phase), members in alike.items():
        measured = median(m.step.measured_s for m in members)
        predicted = median(m.predicted_s for m in members)
        rows.append(
            {
                "cell": cell,
                "side": side[cell],
                "phase": phase,
                "n": len(members),
                "measured_s": measured,
                "predicted_s": predicted,
                "relative": (measured - predicted) / predicted,
            }
        )
    return rows


def _errors(found: Sequence[Judged], ends: tuple[float, float]) -> Errors:
    sizes = [j.error for j in found]
    worst = max(found, key=lambda j: j.error)
    inside = sum(ends[0] <= j.ratio <= ends[1] for j in found)
    return Errors(
        n=len(found),
        median=float(np.median(sizes)),
        p90=float(np.quantile(sizes, 0.9)),
        worst=worst.error,
        worst_step=f"{worst.step.cell}, {worst.step.id}",
        share_inside=inside / len(found),
        interval=list(wilson(inside, len(found))),
    )
