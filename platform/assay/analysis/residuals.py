"""The residual table: prediction and measurement side by side, and what the difference is, by evidence.

relative = (measured - predicted) / predicted. A residual outside its range belongs to one of three classes,
each with evidence of its own, or it is ``unexplained``:

* ``parameter_error``     the measurement lies under the bound, or a size that the declaration fixes is
                          another in the engine's own record: a roof, a size or a condition is wrong;
* ``model_omission``      the residual shows a pattern, or time that the model has no term for was recorded;
* ``measurement_problem`` the client was limited, others held the cores, or like steps scatter so that no
  median can be trusted.

Where nothing is to be explained there is no class: the measurement lies in its range, or it or the estimate
is missing; ``reason`` says which. Nothing is tuned here: a residual stays, and the parameters stay as they
were registered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.calibration import EXTRAPOLATED
from assay.analysis.forecast.rows import CLIENT, ENGINE_LOOP, TIME
from assay.analysis.observed import ObservedQuantities
from assay.analysis.quantities import NS_PER_S
from assay.analysis.residual.measured import Measured, attempts_of, measured_for
from assay.analysis.residual.patterns import Pattern, patterns
from assay.analysis.residual.steps import Coverage, held_out_coverage, step_residuals
from runners.protocol.documents import Prediction, PredictionsDocument

PARAMETER_ERROR = "parameter_error"
MODEL_OMISSION = "model_omission"
MEASUREMENT_PROBLEM = "measurement_problem"
UNEXPLAINED = "unexplained"

# What the declaration fixes, so that another figure in the record is another size and no matter of timing.
FIXED_SIZES = frozenset(
    {
        *("kv_bytes_per_token", "kv_bytes_allocated", "kv_total_blocks"),
        *("weight_file_bytes", "weights_bytes_executed"),
    }
)
SCATTER = 0.5  # (q3 - q1) / median of like steps above which their median is not trusted
WITHIN = "within the predicted range: nothing to explain"
MAIN_SHARE = 0.5  # of a residual, for one recorded cause to be its explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What classification looks at beside the row itself."""

    observed: ObservedQuantities
    patterns: Sequence[Pattern]
    client_limited: str | None
    host_disturbed: str | None
    remark: str  # what is known against the parameters themselves, or nothing


def residual_rows(
    predictions: PredictionsDocument | None,
    observed: ObservedQuantities,
    *,
    client_limited: str | None = None,
    host_disturbed: str | None = None,
) -> list[dict[str, Any]]:
    """One row per prediction (documents.ResidualRow, key ``class``), and one for the ranges' coverage.

    ``client_limited`` is the sentence that says so when the load client could not keep up, ``host_disturbed``
    the one when others held the cores. Empty when no prediction was registered: nothing is predicted
    afterwards.
    """
    if predictions is None:
        return []
    case = _Case(
        observed=observed,
        patterns=patterns(step_residuals(predictions, observed)),
        client_limited=client_limited,
        host_disturbed=host_disturbed,
        remark=_remark(predictions),
    )
    rows = [_row(prediction, case) for prediction in predictions["predictions"]]
    coverage = held_out_coverage(predictions, observed)
    if coverage is None:
        return rows
    return [*rows, _coverage_row(coverage, _validity_of_steps(predictions))]


def _validity_of_steps(predictions: PredictionsDocument) -> str:
    """Calibrated only if every decode row is: the steps are held against all of them."""
    found = {p["validity"] for p in predictions["predictions"] if p["quantity"] == "decode_step"}
    return found.pop() if len(found) == 1 else EXTRAPOLATED


def _row(prediction: Prediction, case: _Case) -> dict[str, Any]:
    found = measured_for(prediction, case.observed)
    measured = None if isinstance(found, Absent) else found
    predicted = prediction["estimate"]
    kind, reason = _classify(prediction, found, case)
    return {
        "quantity": prediction["quantity"],
        "kind": prediction["kind"],
        "conditions": prediction["conditions"],
        "predicted": predicted,
        "range": prediction["range"],
        "bound": prediction["bound"],
        "measured": measured.value if measured else None,
        "n": measured.n if measured else 0,
        "unit": prediction["unit"],
        "layer": prediction["layer"],
        "memory_level": prediction["memory_level"],
        "residual": measured.value - predicted if measured and predicted is not None else None,
        "relative": _relative(measured, predicted),
        "inside_range": _inside(prediction, measured),
        "class": kind,
        "validity": prediction["validity"],
        "reason": reason,
        "overturned_by": prediction["overturned_by"],
    }


def _relative(measured: Measured | None, predicted: float | None) -> float | None:
    if measured is None or not predicted:
        return None
    return (measured.value - predicted) / predicted


def _inside(prediction: Prediction, measured: Measured | None) -> bool | None:
    """Whether the measurement lies in the range; an exact count is its own range."""
    if measured is None or prediction["estimate"] is None:
        return None
    low, high = prediction["range"] or [prediction["estimate"]] * 2
    return low <= measured.value <= high


def _classify(
    prediction: Prediction, found: Measured | Absent, case: _Case
) -> tuple[str | None, str]:
    """The class with its evidence; no class where nothing is left to explain, and why."""
    if isinstance(found, Absent):
        return None, f"not measured: {found.reason}"
    bound = prediction["bound"]
    if bound is not None and found.value < bound:
        return PARAMETER_ERROR, (
            f"measured {found.value:.4g} {prediction['unit']} lies under the bound {bound:.4g}: a roof, "
            "a size or a condition of the bound is wrong"
        )
    if prediction["estimate"] is None:
        return None, "no estimate was registered, only what is shown as bound"
    if _inside(prediction, found):
        return None, WITHIN
    return _outside(prediction, found, case)


def _outside(prediction: Prediction, found: Measured, case: _Case) -> tuple[str, str]:
    quantity = prediction["quantity"]
    if quantity == "prompt_tokens":
        return _recomputed(case.observed)
    if quantity in FIXED_SIZES:
        return PARAMETER_ERROR, (
            f"the declaration gives {prediction['estimate']:.10g} {prediction['unit']}, the record "
            f"{found.value:.10g}: a size or a condition is another than was declared"
        )
    if case.host_disturbed and prediction["kind"] == TIME and _slower(prediction, found):
        return MEASUREMENT_PROBLEM, case.host_disturbed
    if prediction["layer"] == CLIENT:
        return _client_side(prediction, found, case)
    if scatter := _scatter(found):
        return MEASUREMENT_PROBLEM, scatter
    if quantity == "decode_step":
        batch = prediction["conditions"]["batch"]
        slower = _slower(prediction, found)
        held = [p for p in case.patterns if p.batch in (None, batch) and (p.effect > 0) is slower]
        if held:
            return held[0].supports, _with_verification(held[:2])
    return UNEXPLAINED, "no evidence for a class" + (
        case.remark if prediction["kind"] == TIME else ""
    )


def _with_verification(held: Sequence[Pattern]) -> str:
    seen = "; ".join(pattern.sentence for pattern in held)
    settled = "; ".join(dict.fromkeys(pattern.verification for pattern in held))
    return f"{seen}. What would settle it: {settled}"


def _remark(predictions: PredictionsDocument) -> str:
    for what in ("calibration", "micro-benchmark"):
        if any(line.startswith(f"{what} disturbed") for line in predictions["assumptions"]):
            return f"; the {what} behind the estimate was taken on a disturbed machine"
    return ""


def _slower(prediction: Prediction, found: Measured) -> bool:
    return prediction["estimate"] is not None and found.value > prediction["estimate"]


def _recomputed(observed: ObservedQuantities) -> tuple[str, str]:
    again = sum(step.recomputed_tokens for step in observed.steps)
    if again:
        return (
            MODEL_OMISSION,
            f"{again} tokens were computed again after preemption; the model has none",
        )
    return UNEXPLAINED, "no evidence for a class"


def _client_side(prediction: Prediction, found: Measured, case: _Case) -> tuple[str, str]:
    """A limited client first, then time that the engine recorded before admission or outside its steps."""
    if case.client_limited:
        return MEASUREMENT_PROBLEM, case.client_limited
    estimate = prediction["estimate"]
    if prediction["quantity"] != "ttft" or estimate is None or found.value <= estimate:
        return (
            UNEXPLAINED,
            "no evidence for a class at the client; see the rows of the engine's loop",
        )
    extra = found.value - estimate
    attempts = attempts_of(prediction["conditions"], case.observed)
    queued = [a.queue_ns / NS_PER_S for a in attempts if a.queue_ns is not None]
    if queued and median(queued) >= MAIN_SHARE * extra:
        return MODEL_OMISSION, (
            f"median {median(queued) * 1e3:.1f} ms passed between queued and scheduled in the engine's "
            f"record (n {len(queued)}); the model has no queue"
        )
    outside = [
        (a.ttft_client_ns - a.ttft_server_ns) / NS_PER_S
        for a in attempts
        if a.ttft_client_ns is not None and a.ttft_server_ns is not None
    ]
    if outside and median(outside) >= MAIN_SHARE * extra:
        return MODEL_OMISSION, (
            f"median {median(outside) * 1e3:.1f} ms of the time to first token lie outside the engine's loop "
            f"(two local durations, n {len(outside)}): front end, sockets or client"
        )
    return UNEXPLAINED, "neither queueing nor time outside the loop makes up half of it"


def _scatter(found: Measured) -> str | None:
    if found.quartiles is None or not found.value:
        return None
    width = (found.quartiles[1] - found.quartiles[0]) / found.value
    if width <= SCATTER:
        return None
    return (
        f"like steps scatter: quartiles {found.quartiles[0]:.4g} and {found.quartiles[1]:.4g} s around "
        f"{found.value:.4g} s (n {found.n}); something else held the cores"
    )


def _coverage_row(coverage: Coverage, validity: str) -> dict[str, Any]:
    """Nominal against seen coverage of the decode steps' ranges, with the error beside it."""
    low, high = coverage.interval
    kept = low <= coverage.nominal <= high or coverage.share >= coverage.nominal
    return {
        "quantity": "decode_step_coverage",
        "kind": "coverage",
        "conditions": {
            "held_out_steps": coverage.n,
            "steps_without_forecast": coverage.skipped,
            "median_error": coverage.median_error,
            "worst_error": coverage.worst_error,
            "worst_step": coverage.worst_step,
            "interval": [low, high],
        },
        "predicted": coverage.nominal,
        "range": None,
        "bound": None,
        "measured": coverage.share,
        "n": coverage.n,
        "unit": "1",
        "layer": ENGINE_LOOP,
        "memory_level": None,
        "residual": coverage.share - coverage.nominal,
        "relative": (coverage.share - coverage.nominal) / coverage.nominal,
        "inside_range": None,
        "class": None if kept else UNEXPLAINED,
        "validity": validity,
        "reason": f"{coverage.inside} of {coverage.n} held-out decode steps lie in their range; median error "
        f"{coverage.median_error:.0%}, worst {coverage.worst_error:.0%} at step {coverage.worst_step}"
        + ("" if kept else "; the ranges claim more than they hold"),
        "overturned_by": "more steps of the same conditions",
    }
