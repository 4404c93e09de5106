"""A mixture of experts in three lists that no one parameter count serves: compute, storage, transfer.

Compute goes by active parameters, storage by all of them unless some are offloaded, transfer by routing;
what a step reads is the union of the chosen experts. Active parameters are no dense model of that size.
Source: chapter 2.5.
"""

from dataclasses import asdict
from typing import Any

from assay.analysis.perfmodel.laws import expected_experts, linear_flops
from assay.analysis.perfmodel.parallel.communication import layer_routing
from assay.analysis.perfmodel.parallel.layout import Layout
from assay.analysis.perfmodel.parallel.routing import RoutingPayload, RoutingRecord
from assay.analysis.perfmodel.parallel.shards import experts_of
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import count_parameters, placed_tensors, weight_bytes

UNIFORM = "independent uniform routing: real routing is skewed and touches fewer experts"
NOT_DENSE = (
    "active parameters do not make it a dense model of that size: all experts are stored, and a step "
    "reads the union of those chosen"
)


def experts_lists(
    structure: Structure,
    formats: WeightFormats,
    *,
    rows: int,
    element_bytes: int,
    layout: Layout,
    experts_touched: float | None,
) -> dict[str, Any] | None:
    """The lists for a step of ``rows`` tokens; None for a model without experts."""
    payload = layer_routing(structure, rows=rows, element_bytes=element_bytes, layout=layout)
    if payload is None:
        return None
    counts = count_parameters(structure)
    routed = [p for p in placed_tensors(structure) if p.tensor.chosen is not None]
    return {
        "layers": _layers(structure, rows=rows, experts_touched=experts_touched),
        "compute": {
            "active_parameters": counts.active_without_input_embedding,
            "flops_per_token": linear_flops(
                parameters=counts.active_without_input_embedding, tokens=1
            ),
            "label": "2 FLOP an active parameter, without attention over stored tokens",
        },
        "storage": {
            "total_parameters": counts.total,
            "bytes": weight_bytes(structure, formats),
            "routed_bytes": sum(formats.bytes_of(placed) for placed in routed),
            "label": "all experts resident; offloaded ones would be read over a link",
        },
        "transfer": _transfer(structure, payload, rows=rows),
        "recorded": asdict(RoutingRecord()),
        "label": UNIFORM if experts_touched is None else "experts touched as counted",
        "note": NOT_DENSE,
    }


def _layers(
    structure: Structure, *, rows: int, experts_touched: float | None
) -> list[dict[str, Any]]:
    found = []
    for layer, count in structure.kinds():
        experts = experts_of(layer.feed_forward)
        if experts is None:
            continue
        union = experts_touched
        if union is None:
            union = expected_experts(experts=experts.experts, chosen=experts.chosen, tokens=rows)
        found.append(
            {
                "count": count,
                "experts": experts.experts,
                "chosen": int(experts.chosen),
                "width": experts.width,
                "shared_width": experts.shared_width,
                "tokens": rows,
                "experts_read": union,
                "read_share": min(1.0, union / experts.experts),
            }
        )
    return found


def _transfer(structure: Structure, payload: RoutingPayload, *, rows: int) -> dict[str, Any]:
    layers = sum(
        count for layer, count in structure.kinds() if experts_of(layer.feed_forward) is not None
    )
    return {
        "bytes_per_layer": payload.bytes,
        "layers": layers,
        "tokens": rows,
        "label": payload.label,
        "not_stated": list(payload.not_stated()),
        "cross_device_share": payload.cross_device_share,
        "batch_scope": payload.batch_scope,
    }
