"""Calibration by named parameters, on points that are not the ones it is judged on.

The fixed cost of a step and the cost per sampled token are fitted, non-negative, to what is left after the
parts that micro-benchmarks give:

    measured - micro-benchmarked part = step_overhead_s + tokens x shared_core_s_per_token

There is no common efficiency factor, and no parameter that has a measurement of its own is touched. Source of
the rules: chapter 3.7.3 and 3.8.3.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.devices.machine import Interval
from assay.analysis.errors import ClaimRefused
from runners.protocol.documents import Parameter

STEP_OVERHEAD = "step_overhead_s"
SHARED_CORE = "shared_core_s_per_token"
FORMULA = (
    "empirical, over serial steps: a fixed time for each and a time for each token on top of the measured "
    "parts; its coefficients are no physical peaks"
)
FEWEST_POINTS = 8
CALIBRATED, EXTRAPOLATED = "calibrated", "extrapolated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured step. ``explained_s`` is the part of it that micro-benchmarks predict.

    ``id`` names the point so that calibration and holdout can be told apart; ``source`` says what it is:
    only ``measured`` calibrates.
    """

    id: str
    tokens: int
    context_tokens: int
    explained_s: float
    measured_s: float
    source: str = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Distribution of |measured - predicted| / predicted over ``n`` points."""

    n: int
    median: float
    p90: float
    worst: float
    worst_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Fitted parameters, the range they were fitted in, and both error distributions."""

    fits: dict[str, Interval]
    reference: str
    date: str
    tokens_range: tuple[int, int]
    context_range: tuple[int, int]
    calibration_errors: Errors
    holdout_errors: Errors

    def interval(self, name: str) -> Interval | None:
        return self.fits.get(name)

    def parameter(self, name: str) -> Parameter:
        fit = self.fits[name]
        return Parameter(
            name=name,
            value=fit.value,
            unit="s",
            source="fit",
            reference=self.reference,
            date=self.date,
            spread=[fit.low, fit.high],
        )

    def validity(self, *, tokens: int, context_tokens: int) -> str:
        """``calibrated`` inside the fitted range of tokens and context, else ``extrapolated``."""
        inside = (
            self.tokens_range[0] <= tokens <= self.tokens_range[1]
            and self.context_range[0] <= context_tokens <= self.context_range[1]
        )
        return CALIBRATED if inside else EXTRAPOLATED


def _least_squares(columns: "np.ndarray", left: "np.ndarray") -> "np.ndarray":
    """Non-negative; the solver is loaded here, since a reading only names what it was calibrated by."""
    values, _ = importlib.import_module("scipy.optimize").nnls(columns, left)
    return np.asarray(values)


def calibrate(
    points: Sequence[Point], holdout: Sequence[Point], *, reference: str, date: str
) -> Calibration:
    """Fit the two named parameters on ``points`` and judge them on ``holdout``.

    Non-negative least squares on relative residuals. Raises ClaimRefused if the two sets share a point, if a
    point is not a measurement (a rated figure calibrates nothing), or if there are too few.
    """
    _check(points, holdout)
    tokens = np.array([p.tokens for p in points], dtype=float)
    left = np.array([p.measured_s - p.explained_s for p in points])
    weight = 1 / np.array([p.measured_s for p in points])
    columns = np.column_stack([np.ones_like(tokens), tokens])
    values = _least_squares(columns * weight[:, None], left * weight)
    fits = {
        name: Interval(value=float(value), low=float(low), high=float(high))
        for name, value, (low, high) in zip(
            (STEP_OVERHEAD, SHARED_CORE), values, _spread(columns, weight, left), strict=True
        )
    }
    return Calibration(
        fits=fits,
        reference=reference,
        date=date,
        tokens_range=(min(p.tokens for p in points), max(p.tokens for p in points)),
        context_range=(
            min(p.context_tokens for p in points),
            max(p.context_tokens for p in points),
        ),
        calibration_errors=errors(points, values),
        holdout_errors=errors(holdout, values),
    )


def errors(points: Sequence[Point], values: Any) -> Errors:
    """Relative errors of the fitted formula on ``points``."""
    found = []
    for point in points:
        predicted = point.explained_s + float(values[0]) + point.tokens * float(values[1])
        found.append((abs(point.measured_s - predicted) / predicted, point.id))
    sizes = [size for size, _ in found]
    worst, worst_id = max(found)
    return Errors(
        n=len(found),
        median=float(np.median(sizes)),
        p90=float(np.quantile(sizes, 0.9)),
        worst=worst,
        worst_id=worst_id,
    )


def _spread(columns: Any, weight: Any, left: Any) -> list[tuple[float, float]]:
    """Lowest and highest fit when each tenth of the points is left out in turn (jackknife by blocks)."""
    blocks = np.arange(len(left)) % 10
    fits = []
    for block in range(10):
        keep = blocks != block
        if keep.all() or keep.sum() < 2:
            continue
        values = _least_squares(columns[keep] * weight[keep, None], left[keep] * weight[keep])
        fits.append(values)
    table = np.array(fits)
    return [(float(table[:, i].min()), float(table[:, i].max())) for i in range(columns.shape[1])]


def _check(points: Sequence[Point], holdout: Sequence[Point]) -> None:
    shared = sorted({p.id for p in points} & {p.id for p in holdout})
    if shared:
        raise ClaimRefused(
            field="holdout",
            seen=f"{len(shared)} points are in both sets ({shared[0]}, ...)",
            allowed="disjoint calibration and holdout points",
            remedy="Judge a fit on points it has not seen.",
        )
    for point in (*points, *holdout):
        if point.source != "measured":
            raise ClaimRefused(
                field=f"point {point.id}",
                seen=point.source,
                allowed="measured",
                remedy="A rated specification is no calibration point.",
            )
    if len(points) < FEWEST_POINTS or not holdout:
        raise ClaimRefused(
            field="points",
            seen=f"{len(points)} to fit, {len(holdout)} held out",
            allowed=f"at least {FEWEST_POINTS} to fit and 1 held out",
            remedy="Measure more steps.",
        )
