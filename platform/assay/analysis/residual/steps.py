"""Hold every decode step of the engine's record against the registered forecast, not only the medians.

The forecast of a step with ``b`` sequences and ``s`` stored tokens in all is that of the registered row with
``b`` sequences, moved along the registered slope: T(b, s) = T_row + slope x (s - b x context_row).
"""

from dataclasses import dataclass
from statistics import median

from assay.analysis.forecast.rows import SLOPE
from assay.analysis.observed import ObservedQuantities, ObservedStep
from assay.analysis.quantities import NS_PER_S
from assay.analysis.residual.measured import decode_steps
from assay.analysis.residual.shares import wilson
from runners.protocol.documents import Parameter, Prediction, PredictionsDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResidual:
    """One measured step beside its forecast; seconds."""

    number: int
    batch: int
    stored_tokens: int
    measured_s: float
    predicted_s: float
    low_s: float
    high_s: float

    @property
    def relative(self) -> float:
        return (self.measured_s - self.predicted_s) / self.predicted_s

    @property
    def inside(self) -> bool:
        return self.low_s <= self.measured_s <= self.high_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How often held-out steps lay in their range, beside the error.

    ``share`` = inside / n with its 95% Wilson interval; errors are |measured - predicted| / predicted.
    """

    n: int
    inside: int
    share: float
    interval: tuple[float, float]
    nominal: float
    median_error: float
    worst_error: float
    worst_step: int
    skipped: int


def step_residuals(
    predictions: PredictionsDocument,
    observed: ObservedQuantities,
    *,
    calibration_steps: frozenset[int] = frozenset(),
) -> list[StepResidual]:
    """Residual of every decode step that a registered row covers; steps used to calibrate are left out."""
    slope = next((p for p in predictions["parameters"] if p["name"] == SLOPE), None)
    if slope is None:
        return []
    rows = _rows_by_batch(predictions)
    found = []
    for step in decode_steps(observed):
        row = _nearest(rows.get(step.batch, []), step)
        if row is not None and step.number not in calibration_steps:
            found.append(_residual(step, row, slope))
    return found


def held_out_coverage(
    predictions: PredictionsDocument,
    observed: ObservedQuantities,
    *,
    calibration_steps: frozenset[int] = frozenset(),
) -> Coverage | None:
    """Share of held-out decode steps inside their predicted range; None without a forecast or a step."""
    residuals = step_residuals(predictions, observed, calibration_steps=calibration_steps)
    nominal = next((p["coverage"] for p in predictions["predictions"] if p["coverage"]), None)
    if not residuals or nominal is None:
        return None
    inside = sum(residual.inside for residual in residuals)
    worst = max(residuals, key=lambda r: abs(r.relative))
    n = len(residuals)
    return Coverage(
        n=n,
        inside=inside,
        share=inside / n,
        interval=wilson(inside, n),
        nominal=nominal,
        median_error=median(abs(r.relative) for r in residuals),
        worst_error=abs(worst.relative),
        worst_step=worst.number,
        skipped=len(decode_steps(observed)) - n,
    )


def _rows_by_batch(predictions: PredictionsDocument) -> dict[int, list[Prediction]]:
    rows: dict[int, list[Prediction]] = {}
    for prediction in predictions["predictions"]:
        if prediction["quantity"] == "decode_step" and prediction["range"] is not None:
            rows.setdefault(prediction["conditions"]["batch"], []).append(prediction)
    return rows


def _nearest(rows: list[Prediction], step: ObservedStep) -> Prediction | None:
    stored = (step.context_tokens - step.batch) / step.batch
    return min(rows, key=lambda r: abs(r["conditions"]["context_tokens"] - stored), default=None)


def _residual(step: ObservedStep, row: Prediction, slope: Parameter) -> StepResidual:
    """``context`` of the record counts the new tokens too; what the step reads was stored before it."""
    stored = step.context_tokens - step.batch
    moved = stored - step.batch * row["conditions"]["context_tokens"]
    estimate, ends = row["estimate"], row["range"]
    if estimate is None or ends is None:  # _rows_by_batch keeps rows with a range only
        raise AssertionError("a row without a range has no residual")
    spread = slope["spread"] or [slope["value"], slope["value"]]
    at_ends = [ends[0] + moved * spread[0], ends[1] + moved * spread[1]]
    floor = row["bound"] or 0.0
    return StepResidual(
        number=step.number,
        batch=step.batch,
        stored_tokens=stored,
        measured_s=step.duration_ns / NS_PER_S,
        predicted_s=max(floor, estimate + moved * slope["value"]),
        low_s=min(at_ends),
        high_s=max(at_ends),
    )
