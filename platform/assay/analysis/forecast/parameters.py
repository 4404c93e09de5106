"""From stored micro-benchmarks, assumptions and an optional calibration to the parameters of one forecast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis.calibration import Calibration
from assay.analysis.devices.machine import (
    Chosen,
    Interval,
    choose,
)
from assay.analysis.forecast import assumed
from assay.analysis.forecast.step_time import Roofs, StepTimes
from assay.analysis.forecast.terms import (
    ELEMENTWISE,
    LAYER_LAUNCH,
    MATMUL,
    PROMPT_ATTENTION,
    PROMPT_MASK,
    SAMPLED_ROW,
    STATE_COPY,
    STATE_READ,
    STATE_VIEW,
    STEP_OVERHEAD,
)
from runners.protocol.documents import Parameter

# Parameters of every step estimate that are measured, beside the matrices' curve.
_MEASURED: tuple[tuple[str, str, str, str], ...] = (
    # parameter, measurement, its unit, the parameter's unit
    (STATE_READ, "state_read.batch_1.context_1024", "byte/s", "s/byte"),
    (STATE_COPY, "state_gather.context_512", "byte/s", "s/byte"),
    (PROMPT_ATTENTION, "attention_prefill.tokens_256", "FLOP/s", "s/FLOP"),
    ("cache_s_per_byte", "read_sum.cache", "byte/s", "s/byte"),
)
_ASSUMED = (STEP_OVERHEAD, SAMPLED_ROW, STATE_VIEW, PROMPT_MASK, assumed.ELEMENTS)


@dataclass(slots=True, kw_only=True)
class Known:
    """Everything named that a forecast rests on; ``assumptions`` say why an estimate or bound is missing."""

    parameters: dict[str, Parameter] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    roofs: Roofs | None = None
    times: StepTimes | None = None
    bound_names: list[str] = field(default_factory=list)
    estimate_names: list[str] = field(default_factory=list)

    def bound_by(self, roofs: Roofs | str) -> None:
        """Enter the roofs, or the sentence that says why there are none."""
        if isinstance(roofs, str):
            self.assumptions.append(roofs)
            return
        self.roofs = roofs
        self.add(roofs.bandwidth.parameter, self.bound_names)
        self.add(roofs.flops.parameter, self.bound_names)

    def add(self, parameter: Parameter, *names: list[str]) -> None:
        self.parameters[parameter["name"]] = parameter
        for listed in names:
            listed.append(parameter["name"])


def measured_parameters(
    benchmarks: Sequence[Mapping[str, Any]], *, dtype: str, threads: int
) -> Known:
    """Times of a step from one chosen file, and assumptions, by name."""
    known = Known()
    chosen = choose(benchmarks, threads=threads)
    if chosen is None:
        known.assumptions.append("no time estimate: no micro-benchmark of this host is stored")
        return known
    known.assumptions.extend(chosen.remarks)
    known.times = _times(known, chosen, dtype=dtype)
    return known


def calibrated_parameters(calibration: Calibration, *, coverage: float) -> Known:
    """Every parameter of a step as the calibration states it."""
    known = Known()
    for parameter in calibration.parameters:
        known.add(parameter, known.estimate_names)
    known.times = StepTimes(
        values=calibration.intervals(),
        knots=calibration.knots,
        spread=calibration.spread(coverage),
    )
    return known


def _times(known: Known, chosen: Chosen, *, dtype: str) -> StepTimes | None:
    values: dict[str, Interval] = {}
    for name, measurement, unit, own_unit in _MEASURED:
        interval = chosen.seconds_per(measurement, unit)
        if interval is None:
            known.assumptions.append(f"no time estimate: the micro-benchmark has no {measurement}")
            return None
        values[name] = interval
        known.add(chosen.parameter(name, interval, own_unit), known.estimate_names)
    knots = _matmul(known, chosen, values, dtype=dtype)
    if not knots:
        known.assumptions.append(f"no time estimate: no matrix pass was measured in {dtype}")
        return None
    launch = chosen.interval("layer_launch", "s/call")
    if launch is None:
        known.assumptions.append("no time estimate: the micro-benchmark has no layer_launch")
        return None
    values[LAYER_LAUNCH] = launch
    known.add(chosen.parameter(LAYER_LAUNCH, launch, "s"), known.estimate_names)
    for name in _ASSUMED:
        values[name] = assumed.assumed(name)
        known.add(assumed.parameter(name), known.estimate_names)
    values[ELEMENTWISE] = _product(values[assumed.ELEMENTS], values["cache_s_per_byte"])
    return StepTimes(values=values, knots=knots)


def _matmul(
    known: Known, chosen: Chosen, values: dict[str, Interval], *, dtype: str
) -> tuple[int, ...]:
    prefix = f"matmul.{dtype}.rows_"
    knots = []
    for name in chosen.names(prefix):
        interval = chosen.seconds_per(name, "byte/s")
        if interval is not None:
            rows = int(name.removeprefix(prefix))
            knots.append(rows)
            values[f"{MATMUL}{rows}"] = interval
            parameter = chosen.parameter(f"{MATMUL}{rows}", interval, "s/byte")
            known.add(parameter, known.estimate_names)
    return tuple(sorted(knots))


def _product(a: Interval, b: Interval) -> Interval:
    """Product of two intervals of values that are not negative."""
    return Interval(value=a.value * b.value, low=a.low * b.low, high=a.high * b.high)
