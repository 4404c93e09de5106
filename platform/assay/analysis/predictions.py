"""Build the predictions of a run before it is launched, and hold that they were.

Three kinds: work, capacity and time. Each parameter carries its source label; every row names its layer, its
validity and the observation that would overturn it. A prediction that was not registered before the launch is
none: ``check_registered`` refuses it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.calibration import EXTRAPOLATED, FORMULA, Calibration
from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.errors import ClaimRefused
from assay.analysis.forecast import assumed
from assay.analysis.forecast.capacity import capacity_rows
from assay.analysis.forecast.parameters import Known, known_parameters
from assay.analysis.forecast.rows import SLOPE
from assay.analysis.forecast.shapes import RunShape, read_run_shape
from assay.analysis.forecast.step_time import Executed
from assay.analysis.forecast.times import Clock, time_rows
from assay.analysis.forecast.work import work_rows
from assay.analysis.perfmodel.config_reader import read_artifact_config
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization import stored_formats
from assay.analysis.perfmodel.weights import uniform, weight_bytes
from assay.analysis.perfmodel.work import NOT_COUNTED
from experiments.identity import spec_digest
from runners.protocol.documents import PredictionsDocument
from runners.protocol.events import SessionEvent


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

    Raises ModelRefused for an engine or structure the model does not know.
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
    executed, remarks = executed_model(spec, shape)
    known = known_parameters(
        benchmarks,
        dtype=executed.dtype,
        threads=shape.engine.threads,
        weight_bytes=weight_bytes(executed.structure, executed.formats),
        calibration=calibration,
    )
    if shape.engine.weights != "dequantized":
        known.times = None  # unpacking at every use is work that no pattern measures
    coverage = float(spec["prediction"]["coverage"])
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
    _add_slope(known, executed)
    return PredictionsDocument(
        registered_at=now_utc,
        spec_digest=spec_digest(spec),
        plan_digest=str(digest),
        definition_version=DEFINITION_VERSION,
        parameters=list(known.parameters.values()),
        predictions=predictions,
        assumptions=[*remarks, *known.assumptions, *_standing_assumptions(shape, calibration)],
    )


def executed_model(spec: Mapping[str, Any], shape: RunShape) -> tuple[Executed, list[str]]:
    """The model as the engine computes it, and what had to be said about that."""
    structure = read_artifact_config(spec["artifact"]["config"])
    engine = shape.engine
    if engine.weights == "dequantized":
        formats = uniform(plain(engine.dtype, field="engine.settings.dtype"))
        remarks = [f"weights are executed as {engine.dtype}, whatever their format on disk"]
    else:
        formats = stored_formats(spec["artifact"]["precision"]["weights"])
        remarks = [
            f"weights are read as stored ({formats.label}); unpacking them at every use is not "
            "modelled, so that no time is estimated"
        ]
    executed = Executed(
        structure=structure, formats=formats, dtype=engine.dtype, kv_dtype=engine.kv_dtype
    )
    return executed, remarks


def check_registered(
    session_events: Sequence[Mapping[str, Any]], predictions_digest: str
) -> Absent | None:
    """None if these predictions were registered before the launch; Absent if the run registered none.

    Raises ClaimRefused where a prediction came late or is not the registered one: after ``launch`` it could
    know the result. The order is that of ``session.jsonl``, which is append-only.
    """
    launch: int | None = None
    registered: tuple[int, str] | None = None
    for place, row in enumerate(session_events):
        if row.get("event") == SessionEvent.launch and launch is None:
            launch = place
        if row.get("event") == SessionEvent.predictions_registered and registered is None:
            registered = (place, str(row.get("sha256")))
    if registered is None:
        return Absent("the session registered no predictions")
    place, digest = registered
    if launch is not None and place > launch:
        raise ClaimRefused(
            field="predictions",
            seen="registered after the launch",
            allowed="registered before the launch",
            remedy="A prediction after the result is none; run again.",
        )
    if digest != predictions_digest:
        raise ClaimRefused(
            field="predictions",
            seen=f"sha256 {predictions_digest}",
            allowed=f"the registered sha256 {digest}",
            remedy="Use the document that was registered before the launch.",
        )
    return None


def _add_slope(known: Known, executed: Executed) -> None:
    """What one more stored token adds to a decode step, so that any step can be held against the forecast."""
    if known.times is None:
        return
    slope = known.times.per_stored_token_s(executed)
    known.parameters[SLOPE] = {
        "name": SLOPE,
        "value": slope.value,
        "unit": "s/token",
        "source": "micro-benchmark",
        "reference": "derived: KV bytes per token x (2 x state_copy_s_per_byte + state_read_s_per_byte)",
        "date": known.parameters["state_copy_s_per_byte"]["date"],
        "spread": [slope.low, slope.high],
    }


def _standing_assumptions(shape: RunShape, calibration: Calibration | None) -> list[str]:
    validity = (
        f"no calibration of this engine on this host: every time is {EXTRAPOLATED} from micro-benchmarks"
        if calibration is None
        else f"fitted parameters come from {calibration.reference}; the formula is {FORMULA}"
    )
    queueing = (
        "closed loop: a prompt joins the decoding of the others; no queue before admission"
        if shape.concurrency is not None
        else "open loop: queueing is not modelled, so TTFT has a bound and no estimate"
    )
    return [
        validity,
        queueing,
        "bounds read every weight and stored element once per step from the named memory level, without "
        "reuse between steps, and let compute and traffic of one operator overlap fully",
        "stored K and V are copied out of their blocks and read once per decode step",
        "ranges span the parameters' own spreads; their coverage is nominal until held-out steps confirm it",
        *(f"not counted: {item}" for item in NOT_COUNTED),
    ]
