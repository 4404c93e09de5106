"""What cells did that the fit had not seen: each fitted cell left out in turn, judged by the rest."""

from collections.abc import Mapping, Sequence

from assay.analysis.fitting.judging import PHASES, Judged
from assay.analysis.step_spread import quantiles

FEWEST_INSIDE = 2  # cells inside the others' range for their ratios to make the ranges


def spreads_of(left_out: Mapping[str, Sequence[Judged]]) -> dict[str, tuple[float, ...]]:
    """Ratios of cells left out, by phase: of those inside the range of the others, if there are enough.

    A cell at an end of the range is extrapolated once it is left out; a calibrated range is not about that.
    """
    found = {}
    for phase in PHASES:
        parts = {
            cell: [j for j in part if j.step.shape.phase == phase]
            for cell, part in left_out.items()
        }
        inner = [part for cell, part in parts.items() if part and _inside(cell, parts)]
        chosen = inner if len(inner) >= FEWEST_INSIDE else [p for p in parts.values() if p]
        found[phase] = quantiles([[j.ratio for j in part] for part in chosen])
    return found


def _inside(cell: str, parts: Mapping[str, Sequence[Judged]]) -> bool:
    """Whether every step of ``cell`` lies in the box that the other cells span."""
    others = [_place(j) for name, part in parts.items() if name != cell for j in part]
    if not others:
        return False
    own = [_place(j) for j in parts[cell]]
    ends = [(min(axis), max(axis)) for axis in zip(*others, strict=True)]
    return all(
        low <= value <= high
        for place in own
        for value, (low, high) in zip(place, ends, strict=True)
    )


def _place(one: Judged) -> tuple[int, int, int]:
    shape = one.step.shape
    return shape.batch, shape.new, shape.batch * shape.stored
