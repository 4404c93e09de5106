"""From stored micro-benchmarks, assumptions and an optional calibration to the parameters of one forecast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.analysis.calibration import SHARED_CORE, STEP_OVERHEAD, Calibration
from assay.analysis.devices.machine import (
    Chosen,
    Interval,
    best_flops,
    best_read_bandwidth,
    choose,
)
from assay.analysis.forecast import assumed
from assay.analysis.forecast.step_time import Roofs, StepTimes
from runners.protocol.documents import Parameter

# Parameters of every step estimate, beside the matmul figures.
_MEASURED: tuple[tuple[str, str, str, str], ...] = (
    # parameter, measurement, its unit, the parameter's unit
    ("state_read_s_per_byte", "state_read.batch_1.context_1024", "byte/s", "s/byte"),
    ("state_copy_s_per_byte", "state_gather.context_512", "byte/s", "s/byte"),
    ("prompt_attention_s_per_flop", "attention_prefill.tokens_256", "FLOP/s", "s/FLOP"),
    ("cache_s_per_byte", "read_sum.cache", "byte/s", "s/byte"),
)


@dataclass(slots=True, kw_only=True)
class Known:
    """Everything named that a forecast rests on; ``why_not`` says why an estimate or bound is missing."""

    parameters: dict[str, Parameter] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    roofs: Roofs | None = None
    times: StepTimes | None = None
    bound_names: list[str] = field(default_factory=list)
    estimate_names: list[str] = field(default_factory=list)

    def add(self, parameter: Parameter, *names: list[str]) -> None:
        self.parameters[parameter["name"]] = parameter
        for listed in names:
            listed.append(parameter["name"])


def known_parameters(
    benchmarks: Sequence[Mapping[str, Any]],
    *,
    dtype: str,
    threads: int,
    weight_bytes: int,
    calibration: Calibration | None,
) -> Known:
    """Roofs from the best figures ever seen; times from one chosen file, assumptions and fits by name."""
    known = Known()
    bandwidth = best_read_bandwidth(benchmarks, working_set_bytes=weight_bytes)
    flops = best_flops(benchmarks, dtype=dtype)
    if bandwidth and flops:
        known.roofs = Roofs(bandwidth=bandwidth, flops=flops)
        known.add(bandwidth.parameter, known.bound_names)
        known.add(flops.parameter, known.bound_names)
    else:
        missing = "read bandwidth at the weights' size" if not bandwidth else f"{dtype} GEMM rate"
        known.assumptions.append(f"no bound on time: no stored micro-benchmark gives the {missing}")
    chosen = choose(benchmarks, threads=threads)
    if chosen is None:
        known.assumptions.append("no time estimate: no micro-benchmark of this host is stored")
        return known
    known.assumptions.extend(chosen.remarks)
    known.times = _times(known, chosen, dtype=dtype, calibration=calibration)
    return known


def _times(
    known: Known, chosen: Chosen, *, dtype: str, calibration: Calibration | None
) -> StepTimes | None:
    measured: dict[str, Interval] = {}
    for name, measurement, unit, own_unit in _MEASURED:
        interval = chosen.seconds_per(measurement, unit)
        if interval is None:
            known.assumptions.append(f"no time estimate: the micro-benchmark has no {measurement}")
            return None
        measured[name] = interval
        known.add(chosen.parameter(name, interval, own_unit), known.estimate_names)
    matmul = _matmul(known, chosen, dtype=dtype)
    if not matmul:
        known.assumptions.append(f"no time estimate: no matrix pass was measured in {dtype}")
        return None
    launch = _layer_launch(known, chosen)
    if launch is None:
        return None
    named = {
        name: _assumed_or_fit(known, name, calibration)
        for name in (STEP_OVERHEAD, SHARED_CORE, assumed.ELEMENTWISE)
    }
    return StepTimes(
        matmul=matmul,
        layer_launch_s=launch,
        step_overhead_s=named[STEP_OVERHEAD],
        shared_core_s_per_token=named[SHARED_CORE],
        elementwise_elements=named[assumed.ELEMENTWISE],
        **measured,
    )


def _matmul(known: Known, chosen: Chosen, *, dtype: str) -> tuple[tuple[int, Interval], ...]:
    prefix = f"matmul.{dtype}.rows_"
    points = []
    for name in chosen.names(prefix):
        interval = chosen.seconds_per(name, "byte/s")
        if interval is not None:
            rows = int(name.removeprefix(prefix))
            points.append((rows, interval))
            parameter = chosen.parameter(f"matmul_s_per_byte.rows_{rows}", interval, "s/byte")
            known.add(parameter, known.estimate_names)
    return tuple(sorted(points))


def _layer_launch(known: Known, chosen: Chosen) -> Interval | None:
    launch = chosen.interval("layer_launch", "s/call")
    if launch is None:
        known.assumptions.append("no time estimate: the micro-benchmark has no layer_launch")
        return None
    known.add(chosen.parameter("layer_launch_s", launch, "s"), known.estimate_names)
    return launch


def _assumed_or_fit(known: Known, name: str, calibration: Calibration | None) -> Interval:
    fitted = calibration.interval(name) if calibration else None
    if fitted is not None and calibration is not None:
        known.add(calibration.parameter(name), known.estimate_names)
        return fitted
    known.add(assumed.parameter(name), known.estimate_names)
    return assumed.assumed(name)
