"""A step as the answer lists it: totals, each operator, each kind of layer. Bytes are at the named memory
level."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from assay.analysis.perfmodel.laws import amdahl_latency_reduction, amdahl_speedup
from assay.analysis.perfmodel.operators import (
    Operator,
    total_bytes,
    total_executed_flops,
    total_useful_flops,
)
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.structure import LayerKind

AMDAHL_ASSUMPTIONS = (
    "stages exclude each other: shares are of the serial bound of one step, not of a measured time",
    "all other stages stay as they are",
    "upper limits for one step, without a load: an end-to-end comparison under the real load decides",
)


def work_totals(steps: Sequence[Sequence[Operator]], roofs: DeviceRoofs | None) -> dict[str, Any]:
    """Totals of one or several serial steps; their bounds are summed."""
    operators = [operator for step in steps for operator in step]
    flops, size = total_useful_flops(operators), total_bytes(operators)
    bounds = [roofs.bound(step) for step in steps] if roofs else []
    by_memory = sum(each.seconds for each in bounds if each.bound_by == "memory")
    seconds = sum(each.seconds for each in bounds)
    return {
        "flops": flops,
        "flops_executed": total_executed_flops(operators),
        "bytes": size,
        "bytes_by": {
            "weights": sum(o.weight_bytes for o in operators),
            "kv_read": sum(o.state_read_bytes for o in operators),
            "kv_write": sum(o.state_write_bytes for o in operators),
        },
        "activation_bytes": sum(o.activation_bytes for o in operators),
        "intensity_flops_per_byte": flops / size,
        "bound_s": seconds if roofs else None,
        "bound_by": None if not roofs else "memory" if by_memory > seconds / 2 else "compute",
        "compute_s": sum(each.compute_s for each in bounds) if roofs else None,
        "memory_s": sum(each.memory_s for each in bounds) if roofs else None,
        "memory_level": roofs.memory_level if roofs else None,
    }


def operator_rows(operators: Sequence[Operator], roofs: DeviceRoofs | None) -> list[dict[str, Any]]:
    """Every operator with its intensity, bound, share of the step's bound and what that share allows at
    most."""
    whole = roofs.bound(operators).seconds if roofs else 0.0
    return [_operator_row(operator, roofs, whole) for operator in operators]


def layer_rows(
    kinds: Sequence[tuple[LayerKind, list[Operator]]], roofs: DeviceRoofs | None
) -> list[dict[str, Any]]:
    """One layer of each kind: its operators together, an average where equal layers are stored unlike."""
    return [
        {
            "mixer": kind.layer.mixer.kind if kind.layer.mixer else None,
            "feed_forward": kind.layer.feed_forward.kind if kind.layer.feed_forward else None,
            "count": kind.count,
            "flops": total_useful_flops(operators) / kind.count,
            "flops_executed": total_executed_flops(operators) / kind.count,
            "bytes": total_bytes(operators) / kind.count,
            "activation_bytes": sum(o.activation_bytes for o in operators) / kind.count,
            "intensity_flops_per_byte": _ratio(total_useful_flops(operators), total_bytes(operators)),
            "bound_s": roofs.bound(operators).seconds / kind.count if roofs else None,
            "memory_level": roofs.memory_level if roofs else None,
        }
        for kind, operators in kinds
        if operators
    ]  # fmt: skip


def _operator_row(operator: Operator, roofs: DeviceRoofs | None, whole: float) -> dict[str, Any]:
    bound = roofs.bound([operator]) if roofs else None
    share = bound.seconds / whole if bound and whole else None
    return {
        **asdict(operator),
        "bytes": operator.bytes,
        "intensity_flops_per_byte": operator.intensity,
        "memory_level": roofs.memory_level if roofs else None,
        "bound_s": bound.seconds if bound else None,
        "bound_by": bound.bound_by if bound and bound.seconds else None,
        "share_of_bound": share,
        "amdahl": None if share is None else _amdahl(share),
    }


def _amdahl(share: float) -> dict[str, float | None]:
    """What twice as fast and free would give at most; None where the stage is the whole step."""
    return {
        "speed_up_if_twice_as_fast": amdahl_speedup(exposed_share=share, factor=2),
        "latency_reduction_if_twice_as_fast": amdahl_latency_reduction(
            exposed_share=share, factor=2
        ),
        "speed_up_if_free": 1 / (1 - share) if share < 1 else None,
        "latency_reduction_if_free": share,
    }


def _ratio(flops: int, size: int) -> float | None:
    return flops / size if size else None
