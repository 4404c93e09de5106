"""Tables that redraw a figure: batch x context with M, FLOPs, bytes and roofs. Drawn from formulas, not
measured."""

from collections.abc import Iterable, Sequence
from typing import Any

from assay.analysis.perfmodel.operators import (
    Operator,
    total_bytes,
    total_executed_flops,
    total_useful_flops,
)
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.work import PreparedModel

LABEL = "drawn from formulas; nothing here was measured"
COLUMNS = {
    "batch": "sequence",
    "context_tokens": "token",
    "m_rows": "row",
    "flops": "FLOP",
    "flops_executed": "FLOP",
    "weight_bytes": "byte",
    "state_bytes": "byte",
    "bytes": "byte",
    "intensity_flops_per_byte": "FLOP/byte",
    "roof_flops_per_s": "FLOP/s",
    "bound_s": "s",
    "bound_by": None,
    "tokens_per_s_at_most": "token/s",
}
ROOFLINE_COLUMNS = {
    "operator": None,
    "m_rows": "row",
    "flops": "FLOP",
    "bytes": "byte",
    "intensity_flops_per_byte": "FLOP/byte",
    "roof_flops_per_s": "FLOP/s",
    "bound_s": "s",
    "bound_by": None,
}


def decode_sweep(
    prepared: PreparedModel,
    *,
    batches: Iterable[int],
    contexts: Iterable[int],
    roofs: DeviceRoofs | None,
) -> dict[str, Any]:
    """One row for each batch and context of a decode step."""
    contexts = tuple(contexts)
    rows = [
        _decode_row(prepared, batch=batch, context=context, roofs=roofs)
        for batch in batches
        for context in contexts
    ]
    return _table("decode step over batch and context", COLUMNS, rows, roofs)


def roofline(operators: Sequence[Operator], roofs: DeviceRoofs | None) -> dict[str, Any]:
    """One row for each operator of a step that moves bytes: a point below the roofs."""
    rows = [_point(operator, roofs) for operator in operators if operator.bytes]
    return _table("operators under the roofs", ROOFLINE_COLUMNS, rows, roofs)


def _decode_row(
    prepared: PreparedModel, *, batch: int, context: int, roofs: DeviceRoofs | None
) -> list[Any]:
    load = prepared.decode_load(batch=batch, context=context)
    operators = prepared.operators(load, sampled=batch)
    flops, size = total_useful_flops(operators), total_bytes(operators)
    weights = sum(operator.weight_bytes for operator in operators)
    bound = roofs.bound(operators) if roofs else None
    return [
        batch,
        context,
        load.rows,
        flops,
        total_executed_flops(operators),
        weights,
        size - weights,
        size,
        flops / size,
        roofs.roof(flops / size) if roofs else None,
        bound.seconds if bound else None,
        bound.bound_by if bound else None,
        batch / bound.seconds if bound else None,
    ]


def _point(operator: Operator, roofs: DeviceRoofs | None) -> list[Any]:
    bound = roofs.bound([operator]) if roofs else None
    intensity = operator.useful_flops / operator.bytes
    return [
        operator.name,
        operator.rows,
        operator.useful_flops,
        operator.bytes,
        intensity,
        roofs.roof(intensity) if roofs else None,
        bound.seconds if bound else None,
        bound.bound_by if bound else None,
    ]


def _table(
    title: str, columns: dict[str, str | None], rows: list[list[Any]], roofs: DeviceRoofs | None
) -> dict[str, Any]:
    return {
        "title": title,
        "label": LABEL,
        "memory_level": roofs.memory_level if roofs else None,
        "columns": list(columns),
        "units": list(columns.values()),
        "rows": rows,
    }
