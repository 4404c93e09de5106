"""Roofline bounds: never a prediction, a measurement or "effective compute".

A bound says that no execution of this work on this memory level can be faster than the larger of
work / peak and bytes / bandwidth, if weights and state are read once and compute and traffic overlap fully.
Serial stages are bounded each and summed; bounding their sums lets stages cover each other and is too low.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.operators import Operator
from runners.protocol.errors import Finding

COMPUTE = "compute"
MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A lower bound on time in seconds, both of its sides, and the level at which bytes are counted."""

    seconds: float
    compute_s: float
    memory_s: float
    bound_by: str
    memory_level: str


def time_bound(
    *,
    flops: float,
    bytes_moved: float,
    peak_flops_per_s: float,
    bandwidth_bytes_per_s: float,
    memory_level: str,
) -> Bound:
    """max(W / F, Q / B). Adding the two would not be a bound. Source: chapter 3.3.2."""
    _positive("peak_flops_per_s", peak_flops_per_s)
    _positive("bandwidth_bytes_per_s", bandwidth_bytes_per_s)
    compute_s, memory_s = flops / peak_flops_per_s, bytes_moved / bandwidth_bytes_per_s
    return Bound(
        seconds=max(compute_s, memory_s),
        compute_s=compute_s,
        memory_s=memory_s,
        bound_by=MEMORY if memory_s > compute_s else COMPUTE,
        memory_level=memory_level,
    )


def serial_bound(stages: Sequence[Bound]) -> Bound:
    """Sum of the stages' bounds; ``bound_by`` is the side that makes up more of the sum.

    Stages must be strictly serial and share one memory level. Source: chapter 3.8.1.
    """
    levels = {stage.memory_level for stage in stages}
    if len(levels) != 1:
        raise ModelRefused(
            Finding(
                field="memory_level",
                seen=", ".join(sorted(levels)) or "no stage",
                allowed="one level for all stages of a sum",
                remedy="Bound each level on its own.",
            )
        )
    by_memory = sum(stage.seconds for stage in stages if stage.bound_by == MEMORY)
    seconds = sum(stage.seconds for stage in stages)
    return Bound(
        seconds=seconds,
        compute_s=sum(stage.compute_s for stage in stages),
        memory_s=sum(stage.memory_s for stage in stages),
        bound_by=MEMORY if by_memory > seconds / 2 else COMPUTE,
        memory_level=levels.pop(),
    )


def step_bound(
    operators: Sequence[Operator],
    *,
    peak_flops_per_s: float,
    bandwidth_bytes_per_s: float,
    memory_level: str,
) -> Bound:
    """Serial bound of a step: useful FLOPs, weights and state once; activations may stay in cache."""
    return serial_bound(
        [
            time_bound(
                flops=operator.useful_flops,
                bytes_moved=operator.bytes,
                peak_flops_per_s=peak_flops_per_s,
                bandwidth_bytes_per_s=bandwidth_bytes_per_s,
                memory_level=memory_level,
            )
            for operator in operators
        ]
    )


def aggregated_bound_s(stages: Sequence[Bound]) -> float:
    """max of the summed sides. For serial stages it is flagged: always at most ``serial_bound``."""
    return max(sum(stage.compute_s for stage in stages), sum(stage.memory_s for stage in stages))


def kernel_sum_estimate_s(
    kernels: Sequence[tuple[float, float]], *, other_exposed_s: float
) -> float:
    """Conditional estimate: sum of max(compute, memory) with *effective* values, plus exposed other time."""
    return sum(max(kernel) for kernel in kernels) + other_exposed_s


def ridge_flops_per_byte(*, peak_flops_per_s: float, bandwidth_bytes_per_s: float) -> float:
    """Intensity at which both roofs meet: F_peak / B_peak."""
    _positive("bandwidth_bytes_per_s", bandwidth_bytes_per_s)
    return peak_flops_per_s / bandwidth_bytes_per_s


def roof_flops_per_s(
    intensity: float, *, peak_flops_per_s: float, bandwidth_bytes_per_s: float
) -> float:
    """Throughput roof at an intensity (FLOP per byte at the named level): the smaller of the two roofs."""
    return min(peak_flops_per_s, intensity * bandwidth_bytes_per_s)


def _positive(field: str, value: float) -> None:
    if not value > 0:
        raise ModelRefused(
            Finding(
                field=field,
                seen=str(value),
                allowed="a positive, declared figure",
                remedy="There is no default for a physical constant: measure or look it up.",
            )
        )
