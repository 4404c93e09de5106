"""Fit the named parameters of a step on some cells of a scan, and judge them on the others.

Each fitted cell is also left out in turn: what the rest then says of it gives the spread of the parameters
and the ranges of a prediction, since a fit explains its own points better than new ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.calibration import FORMULA, KIND, CalibrationDocument, Identity
from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.errors import ClaimRefused
from assay.analysis.fitting.judging import (
    PHASES,
    Judged,
    cell_rows,
    errors_by_phase,
    judged,
)
from assay.analysis.fitting.left_out import spreads_of
from assay.analysis.fitting.outcome import parameters_of, ranges_of, to_verify
from assay.analysis.fitting.points import Group, Step, amounts_of, grouped
from assay.analysis.fitting.solve import Prior, inseparable, solve
from assay.analysis.fitting.split import Split
from assay.analysis.forecast import assumed
from assay.analysis.forecast.parameters import Known
from assay.analysis.forecast.roofs import SPECIFICATION
from assay.analysis.forecast.step_time import StepTimes
from assay.analysis.forecast.terms import Executed
from assay.analysis.step_spread import Spread

COVERAGE = 0.9  # at which coverage is judged here; a study names its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What was measured and how it was split; ``runs`` and ``made_at`` only travel into the document."""

    steps: Sequence[Step]
    split: Split
    runs: Sequence[Mapping[str, Any]]
    identity: Identity
    benchmark: str
    made_at: str


def calibrate(scan: Scan, executed: Executed, known: Known) -> CalibrationDocument:
    """The document of one calibration. ``known`` holds the parameters as measured or assumed before.

    Raises ClaimRefused where a cell would fit and judge, where a rated figure stands among the parameters,
    where there is nothing to move, or where a phase has too few cells.
    """
    times = _times(known)
    _check_sources(scan.split, known)
    fit = _Fit(executed=executed, times=times, priors=_priors(known, times), steps=scan.steps)
    by_side = {side: fit.of(cells) for side, cells in _cells(scan.split).items()}
    _check(by_side["calibration"])
    values = fit.values(scan.split.fitted)
    left_out = {
        cell: fit.values([c for c in scan.split.fitted if c != cell]) for cell in scan.split.fitted
    }
    spreads = spreads_of({cell: fit.judged([cell], v) for cell, v in left_out.items()})
    spread = Spread(ratios=spreads, coverage=COVERAGE)
    sides = {name: fit.judged(cells, values) for name, cells in _cells(scan.split).items()}
    side_of = {s.cell: scan.split.side(s.cell) for s in scan.steps}
    return CalibrationDocument(
        kind=KIND,
        format=1,
        made_at=scan.made_at,
        definition_version=DEFINITION_VERSION,
        formula=FORMULA,
        identity=scan.identity,
        benchmark=scan.benchmark,
        split={
            "rule": scan.split.rule,
            "calibration": list(scan.split.fitted),
            "holdout": list(scan.split.held_out),
        },
        runs=[dict(run) for run in scan.runs],
        parameters=parameters_of(
            fit.priors, known, values, list(left_out.values()), made_at=scan.made_at
        ),
        knots=list(times.knots),
        inseparable=fit.inseparable(scan.split.fitted),
        to_verify=to_verify(fit.priors, values),
        ranges=ranges_of(by_side["calibration"]),
        spreads={phase: list(ratios) for phase, ratios in spreads.items()},
        errors={name: errors_by_phase(found, spread) for name, found in sides.items()},
        cells=cell_rows([j for found in sides.values() for j in found], side_of),
    )


class _Fit:
    """The steps' amounts, worked out once, and the solver over any choice of cells."""

    def __init__(
        self,
        *,
        executed: Executed,
        times: StepTimes,
        priors: Sequence[Prior],
        steps: Sequence[Step],
    ) -> None:
        self.priors = priors
        self._steps = steps
        self._groups = grouped(steps, executed, knots=times.knots)
        self._amounts: dict[object, Mapping[str, float]] = {
            shape: amounts_of(shape, executed, knots=times.knots)
            for shape in {step.shape for step in steps}
        }

    def of(self, cells: Sequence[str]) -> list[Step]:
        return [step for step in self._steps if step.cell in cells]

    def values(self, cells: Sequence[str]) -> dict[str, float]:
        groups = self._of(cells)
        sizes: dict[tuple[str, str], int] = {}
        for group in groups:
            sizes[group.cell, group.phase] = sizes.get((group.cell, group.phase), 0) + 1
        found = solve(
            self._table(groups),
            np.array([g.measured_s for g in groups]),
            np.array([sizes[g.cell, g.phase] ** -0.5 for g in groups]),  # a cell counts once
            self.priors,
        )
        return {p.name: float(v) for p, v in zip(self.priors, found, strict=True)}

    def judged(self, cells: Sequence[str], values: Mapping[str, float]) -> list[Judged]:
        return judged(self.of(cells), self._amounts, values)

    def inseparable(self, cells: Sequence[str]) -> list[str]:
        groups = self._of(cells)
        measured = np.array([g.measured_s for g in groups])
        return inseparable(self._table(groups) / measured[:, None], [p.name for p in self.priors])

    def _of(self, cells: Sequence[str]) -> list[Group]:
        return [group for group in self._groups if group.cell in cells]

    def _table(self, groups: Sequence[Group]) -> "np.ndarray[Any, np.dtype[np.float64]]":
        return np.array([[g.amounts.get(p.name, 0.0) for p in self.priors] for g in groups])


def _cells(split: Split) -> dict[str, tuple[str, ...]]:
    return {"calibration": split.fitted, "holdout": split.held_out}


def _times(known: Known) -> StepTimes:
    if known.times is None:
        raise ClaimRefused(
            field="micro-benchmark",
            seen="; ".join(known.assumptions) or "none",
            allowed="a stored micro-benchmark of this host with every figure of a step",
            remedy="Take one: assay device measure.",
        )
    return known.times


def _priors(known: Known, times: StepTimes) -> list[Prior]:
    """Every parameter that enters the sum, with what was known of it before."""
    found = []
    for name in sorted(times.values):
        if name in (
            assumed.ELEMENTS,
            "cache_s_per_byte",
        ):  # they only make up the element-wise figure
            continue
        interval = times.values[name]
        before = known.parameters.get(name)
        found.append(
            Prior(
                name=name,
                value=interval.value,
                low=interval.low,
                high=interval.high,
                measured=before is not None and before["source"] == "micro-benchmark",
            )
        )
    return found


def _check_sources(split: Split, known: Known) -> None:
    if shared := sorted(set(split.fitted) & set(split.held_out)):
        raise ClaimRefused(
            field="holdout",
            seen=f"{len(shared)} cells on both sides ({shared[0]})",
            allowed="disjoint calibration and holdout cells",
            remedy="Judge a fit on cells it has not seen.",
        )
    rated = [p["name"] for p in known.parameters.values() if p["source"] == SPECIFICATION]
    if rated:
        raise ClaimRefused(
            field=rated[0],
            seen="a rated specification",
            allowed="measured and assumed figures",
            remedy="A rated specification is no calibration point; measure it: assay device measure.",
        )


def _check(fitted: Sequence[Step]) -> None:
    for phase in PHASES:
        cells = {step.cell for step in fitted if step.shape.phase == phase}
        if len(cells) < 2:
            raise ClaimRefused(
                field=f"calibration cells with {phase} steps",
                seen=str(len(cells)),
                allowed="2 or more",
                remedy="Run cells in which a prompt is computed alone and tokens are decoded.",
            )
