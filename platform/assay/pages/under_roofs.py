"""Measured steps and prompts under the roofs of the machine they ran on.

The work of each is counted from the declaration, its time was measured: work / time is the rate that was
reached. The roofs are the ones that bounded the predictions of this very run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.forecast.engine_limits import engine_limits
from assay.analysis.forecast.terms import Executed
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.operators import SequenceStep, decode_sequences
from assay.analysis.predictions import executed_model
from assay.pages.residual_line import ResidualLine
from runners.protocol.documents import Parameter

BANDWIDTHS = ("read_bandwidth_best", "read_bandwidth_rated")
PEAK_PREFIX = "flops_"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoofPoint:
    """One measured row: FLOP/byte as counted, FLOP/s as reached; ``roof`` is the most it could be."""

    name: str
    kind: str  # decode | prompt
    flops: float
    bytes: float
    seconds: float
    roof: float

    @property
    def intensity(self) -> float:
        return self.flops / self.bytes

    @property
    def reached(self) -> float:
        return self.flops / self.seconds

    @property
    def share(self) -> float:
        return self.reached / self.roof


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRoofline:
    """Both roofs in base units with where they come from, and the points below them."""

    bandwidth: Parameter
    peak: Parameter
    points: Sequence[RoofPoint]

    @property
    def ridge(self) -> float:
        return self.peak["value"] / self.bandwidth["value"]

    def roof(self, intensity: float) -> float:
        return min(self.peak["value"], intensity * self.bandwidth["value"])


def measured_roofline(
    spec: Mapping[str, Any], parameters: Iterable[Parameter], lines: Iterable[ResidualLine]
) -> MeasuredRoofline | None:
    """None where the run has no roofs, no known model, or no measured step."""
    by_name = {p["name"]: p for p in parameters}
    bandwidth = next((by_name[n] for n in BANDWIDTHS if n in by_name), None)
    peak = next((p for n, p in by_name.items() if n.startswith(PEAK_PREFIX)), None)
    if bandwidth is None or peak is None:
        return None
    try:
        executed, _ = executed_model(spec, engine_limits(spec["engine"]))
    except ModelRefused:
        return None
    empty = MeasuredRoofline(bandwidth=bandwidth, peak=peak, points=())
    points = [point for line in lines if (point := _point(line, executed, empty)) is not None]
    return MeasuredRoofline(bandwidth=bandwidth, peak=peak, points=points) if points else None


def _point(line: ResidualLine, executed: Executed, roofs: MeasuredRoofline) -> RoofPoint | None:
    if not line.measured:
        return None
    conditions = line.conditions
    if line.quantity == "decode_step" and "context_tokens" in conditions:
        batch = int(conditions["batch"])
        sequences = decode_sequences(batch=batch, context=int(conditions["context_tokens"]))
        kind, sampled = "decode", batch
    elif line.quantity == "prompt_time" and "input_tokens" in conditions:
        sequences = [SequenceStep(new=int(conditions["input_tokens"]), stored=0)]
        kind, sampled = "prompt", 1
    else:
        return None
    operators = executed.operators(sequences, sampled=sampled)
    flops = sum(operator.useful_flops for operator in operators)
    moved = sum(operator.bytes for operator in operators)
    return RoofPoint(
        name=line.name,
        kind=kind,
        flops=flops,
        bytes=moved,
        seconds=line.measured,
        roof=roofs.roof(flops / moved),
    )
