"""Build the predictions of a run before it is launched.

Three kinds: work, capacity and time. Each parameter carries its source label; every row names its layer, its
validity and the observation that would overturn it. A prediction that was not registered before the launch is
none: ``registered`` refuses it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.calibration import EXTRAPOLATED, FORMULA, Calibration
from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.errors import ClaimRefused
from assay.analysis.forecast import assumed
from assay.analysis.forecast.capacity import capacity_rows
from assay.analysis.forecast.engine_limits import DEQUANTIZED, EngineLimits
from assay.analysis.forecast.parameters import (
    Known,
    calibrated_parameters,
    measured_parameters,
)
from assay.analysis.forecast.roofs import roofs_of
from assay.analysis.forecast.rows import SLOPE
from assay.analysis.forecast.shapes import RunShape, read_run_shape
from assay.analysis.forecast.terms import STATE_COPY, STATE_READ, STATE_VIEW, Executed
from assay.analysis.forecast.times import Clock, time_rows
from assay.analysis.forecast.work import work_rows
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.gguf import declared_precision
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.reading.artifact import read_artifact_config
from assay.analysis.perfmodel.weights import weight_bytes
from assay.analysis.perfmodel.work import NOT_COUNTED
from experiments.identity import spec_digest
from runners.protocol.documents import PredictionsDocument
from runners.protocol.errors import Finding

MEASURED_ENGINE = "torch"  # the micro-benchmark's patterns are those of this engine
FIT = "fit"
UNDECIDED_DTYPE = "bfloat16"


def build_predictions(
    spec: Mapping[str, Any],
    plan_summary: Mapping[str, Any],
    benchmarks: Sequence[Mapping[str, Any]],
    now_utc: str,
    *,
    plan_digest: str | None = None,
    calibration: Calibration | None = None,
) -> PredictionsDocument:
    """All predictions of one run.

    ``spec`` is the whole RunSpec document. ``plan_summary`` is what ``prepare`` said: its whole answer (with
    ``plan_digest`` and ``plan``), or its ``plan`` alone beside ``plan_digest``. ``benchmarks`` are stored
    documents of this host. Without benchmarks the times have neither bound nor estimate, and say so.

    Raises ModelRefused for a structure the model does not know, and where no model runs.
    """
    digest = plan_digest or plan_summary.get("plan_digest")
    if not digest:
        raise ClaimRefused(
            field="plan_digest",
            seen="absent",
            allowed="the digest of the materialised plan",
            remedy="Predictions are registered for one plan: prepare the run first.",
        )
    shape = read_run_shape(spec, plan_summary.get("plan", plan_summary))
    executed, remarks = executed_model(spec, shape.engine)
    coverage = float(spec["prediction"]["coverage"])
    known = _known(spec, shape, executed, benchmarks, coverage=coverage, calibration=calibration)
    clock = Clock(executed=executed, known=known, token_budget=shape.engine.token_budget)
    predictions = [
        *work_rows(executed, shape, validity=EXTRAPOLATED),
        *capacity_rows(
            executed,
            shape,
            files=list(spec["artifact"].get("files") or ()),
            coverage=coverage,
            validity=EXTRAPOLATED,
        ),
        *time_rows(clock, shape, coverage=coverage, calibration=calibration),
    ]
    for name in (assumed.FRONT, assumed.RUNTIME_MEMORY):
        known.add(assumed.parameter(name))
    _add_slope(known, executed, context=shape.load.mean_context)
    document = PredictionsDocument(
        registered_at=now_utc,
        spec_digest=spec_digest(spec),
        plan_digest=str(digest),
        definition_version=DEFINITION_VERSION,
        parameters=list(known.parameters.values()),
        predictions=predictions,
        assumptions=[*remarks, *known.assumptions, *_standing_assumptions(shape, calibration)],
    )
    if calibration is not None:
        document["calibration"] = calibration.digest
    return document


def _known(
    spec: Mapping[str, Any],
    shape: RunShape,
    executed: Executed,
    benchmarks: Sequence[Mapping[str, Any]],
    *,
    coverage: float,
    calibration: Calibration | None,
) -> Known:
    """Parameters of a step's time where there are any, and the roofs of its device."""
    engine = shape.engine
    if calibration is not None:
        known = calibrated_parameters(calibration, coverage=coverage)
    elif engine.key != MEASURED_ENGINE:
        known = Known(assumptions=[f"no time estimate: nothing calibrates {engine.key} here"])
    elif engine.weights != DEQUANTIZED:
        # unpacking at every use is work that no pattern measures
        known = Known(assumptions=["no time estimate: unpacking weights is not modelled"])
    else:
        known = measured_parameters(benchmarks, dtype=executed.dtype, threads=engine.threads or 1)
    known.bound_by(
        roofs_of(
            benchmarks,
            spec.get("device") or {},
            elsewhere=engine.elsewhere,
            dtype=executed.dtype,
            weight_bytes=weight_bytes(executed.structure, executed.formats),
        )
    )
    return known


def executed_model(spec: Mapping[str, Any], engine: EngineLimits) -> tuple[Executed, list[str]]:
    """The model as the engine computes it, and what had to be said about that."""
    structure = read_artifact_config(_config(spec["artifact"]))
    remarks: list[str] = []
    dtype = engine.dtype
    if dtype is None:
        dtype = structure.declared_dtype or UNDECIDED_DTYPE
        remarks.append(f"{engine.key} decides its element type: {dtype} is taken")
    if engine.weights == DEQUANTIZED:
        formats = uniform(plain(dtype, field="engine.settings.dtype"))
        remarks.append(f"weights are executed as {dtype}, whatever their format on disk")
    else:
        formats = declared_precision(spec["artifact"]["precision"]["weights"])
        remarks.append(f"weights are read as stored ({formats.label}), once per step")
    executed = Executed(
        structure=structure, formats=formats, dtype=dtype, kv_dtype=engine.kv_dtype or dtype
    )
    return executed, remarks


def _config(artifact: Mapping[str, Any]) -> Mapping[str, Any]:
    config = artifact.get("config")
    if not config or not artifact.get("precision"):
        raise ModelRefused(
            Finding(
                field="artifact.config" if not config else "artifact.precision",
                seen="unknown",
                allowed="the declared structure and precision of what is served",
                remedy="Name an artifact whose configuration is known.",
            )
        )
    found: Mapping[str, Any] = config
    return found


def _add_slope(known: Known, executed: Executed, *, context: int) -> None:
    """What one more stored token adds to a decode step, so that any step can be held against the forecast."""
    if known.times is None:
        return
    slope = known.times.per_stored_token_s(executed, context=context)
    parts = [known.parameters[name] for name in (STATE_COPY, STATE_READ, STATE_VIEW)]
    fitted = any(part["source"] == FIT for part in parts)
    known.parameters[SLOPE] = {
        "name": SLOPE,
        "value": slope.value,
        "unit": "s/token",
        "source": FIT if fitted else "micro-benchmark",
        "reference": "derived: state bytes of a token x "
        "(2 x state_copy_s_per_byte + state_read_s_per_byte + state_view_s_per_byte)",
        "date": parts[0]["date"],
        "spread": [slope.low, slope.high],
    }


def _standing_assumptions(shape: RunShape, calibration: Calibration | None) -> list[str]:
    validity = (
        f"no calibration of this engine on this host: every time is {EXTRAPOLATED} from micro-benchmarks"
        if calibration is None
        else f"fitted parameters come from {calibration.reference}; the formula is {FORMULA}"
    )
    if shape.follows:
        queueing = (
            f"{shape.structure}: requests follow one another, so that steps of the load's mean shape are "
            "predicted and no times of whole requests"
        )
    else:
        queueing = _queueing(shape)
    return [
        validity,
        queueing,
        "bounds read every weight and stored element once per step from the named memory level, without "
        "reuse between steps, and let compute and traffic of one operator overlap fully",
        "stored K and V are copied out of their blocks and read once per decode step",
        _coverage_said(calibration),
        *filter(None, [calibration.disturbed if calibration else None]),
        *(f"not counted: {item}" for item in NOT_COUNTED),
    ]


def _coverage_said(calibration: Calibration | None) -> str:
    if calibration is None:
        return (
            "ranges span the parameters' own spreads; their coverage is nominal until held-out steps "
            "confirm it"
        )
    seen = ", ".join(
        f"{phase} {errors['share_inside']:.0%} of {errors['n']}"
        for phase, errors in calibration.document["errors"]["holdout"].items()
    )
    return f"ranges are quantiles of measured over predicted on cells left out of a fit; held-out: {seen}"


def _queueing(shape: RunShape) -> str:
    return (
        "closed loop: a prompt joins the decoding of the others; no queue before admission"
        if shape.concurrency is not None
        else "open loop: queueing is not modelled, so TTFT has a bound and no estimate"
    )
