"""What a configuration alone says: parameters, state, weights, one decode step, one prompt, the budget.

The answer of ``assay predict``; field names are stable (docs/performance-model.md). Missing is null beside a
reason in ``assumptions``.
"""

from dataclasses import dataclass
from typing import Any

from assay.analysis.perfmodel.bounds import Bound, step_bound
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.laws import kv_crossover_tokens
from assay.analysis.perfmodel.memory import memory_budget, phase_budget, sequences_that_fit
from assay.analysis.perfmodel.precision import dtype_bytes
from assay.analysis.perfmodel.quantization import Declared
from assay.analysis.perfmodel.state import kv_bytes_per_token, state_classes
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import (
    ParameterCounts,
    count_parameters,
    step_weight_bytes,
    weight_bytes,
)
from assay.analysis.perfmodel.work import (
    NOT_COUNTED,
    Operator,
    SequenceStep,
    decode_sequences,
    step_operators,
    total_bytes,
    total_executed_flops,
    total_useful_flops,
)
from runners.protocol.errors import Finding

MAX_BATCH = 100_000  # each sequence is counted by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRoofs:
    """Roofs and size of a device, with a label for each figure's source; None where it is not known."""

    name: str
    flops_per_s: float
    bandwidth_bytes_per_s: float
    memory_level: str
    memory_bytes: int | None
    sources: tuple[str, ...]


def predict(
    structure: Structure,
    declared: Declared,
    *,
    batch: int,
    context: int,
    compute_dtype: str,
    roofs: DeviceRoofs | None,
) -> dict[str, Any]:
    """The whole answer for one model, one device (or none), one batch and one context.

    ``context`` tokens are stored per sequence before the decode step; the prompt has as many. One replica, no
    block rounding, no draft layers or towers.
    """
    _check(structure, batch=batch, context=context)
    counts = count_parameters(structure)
    stored = weight_bytes(structure, declared.weights)
    per_token = kv_bytes_per_token(structure, kv_dtype=declared.kv_dtype)
    decode = _operators(
        structure, declared, decode_sequences(batch=batch, context=context), compute_dtype, batch
    )
    prompt = _operators(
        structure, declared, [SequenceStep(new=context, stored=0)] * batch, compute_dtype, batch
    )
    return {
        "parameters": _parameters(counts),
        "structure": {
            "family": structure.family,
            "layers": structure.layers,
            "kinds": {structure.attention_kind: structure.layers},
            "h": structure.h,
            "h_kv": structure.h_kv,
            "d_head": structure.d_head,
        },
        "state": _state(structure, declared, context=context),
        "weights": {
            "bytes": stored,
            "bits_per_parameter": 8 * stored / counts.total,
            "format": declared.weights.label,
            "read_per_decode_step_bytes": step_weight_bytes(
                structure, declared.weights, rows=batch
            ),
        },
        "decode": {
            "batch": batch,
            "context_tokens": context,
            **_work(decode, roofs),
            "kv_crossover_tokens": kv_crossover_tokens(
                weight_bytes=step_weight_bytes(structure, declared.weights, rows=batch),
                layers=structure.layers,
                batch=batch,
                kv_width=structure.kv_width,
                kv_element_bytes=dtype_bytes(declared.kv_dtype, field="kv-dtype"),
            ),
        },
        "prefill": {"batch": batch, "tokens": context, **_work(prompt, roofs)},
        "memory": _memory(stored, batch * context * per_token, context * per_token, roofs),
        "device": _device(roofs),
        "assumptions": _assumptions(structure, declared, roofs),
        "not_modelled": [*structure.not_modelled, *NOT_COUNTED],
    }


def _check(structure: Structure, *, batch: int, context: int) -> None:
    for field, value in (("batch", batch), ("context", context)):
        if value < 1:
            raise _refused(field, value, "at least 1")
    if batch > MAX_BATCH:
        raise _refused("batch", batch, f"at most {MAX_BATCH}")
    if structure.max_length is not None and context > structure.max_length:
        raise _refused(
            "context", context, f"at most {structure.max_length} tokens, the model's own"
        )


def _operators(
    structure: Structure,
    declared: Declared,
    sequences: list[SequenceStep],
    compute_dtype: str,
    batch: int,
) -> list[Operator]:
    return step_operators(
        structure,
        sequences,
        formats=declared.weights,
        kv_dtype=declared.kv_dtype,
        activation_dtype=compute_dtype,
        sampled=batch,
    )


def _parameters(counts: ParameterCounts) -> dict[str, Any]:
    """A dense model runs all its parameters for each token; what "active" leaves out is named."""
    return {
        "total": counts.total,
        "active": counts.total,
        "active_definitions": {
            "active_all": counts.total,
            "active_without_input_embedding": counts.without_input_embedding,
            "active_without_both_embeddings": counts.without_both_embeddings,
        },
    }


def _state(structure: Structure, declared: Declared, *, context: int) -> dict[str, Any]:
    classes = state_classes(structure, kv_dtype=declared.kv_dtype)
    return {
        "bytes_per_token": sum(c.bytes_per_token for c in classes if c.cap_tokens is None),
        "constant_bytes_per_sequence": sum(c.constant_bytes for c in classes),
        "bytes_at_context": sum(c.resident_bytes(context) for c in classes),
        "dtype": declared.kv_dtype,
        "dtype_source": declared.kv_source,
        "by_class": [
            {
                "class": c.kind,
                "layers": c.layers,
                "bytes_per_token": c.bytes_per_token,
                "cap_tokens": c.cap_tokens,
                "constant_bytes": c.constant_bytes,
                "in_total": True,
                "alternatives": [],
                "growth": c.growth,
                "read_bytes_at_context": c.read_bytes(context),
                "update_flops_at_context": c.update_flops(context + 1),
            }
            for c in classes
        ],
        "columns": {
            "logical_bytes": sum(c.resident_bytes(context) for c in classes),
            "backend_layout_bytes": None,
            "measured_allocation_bytes": None,
        },
    }


def _work(operators: list[Operator], roofs: DeviceRoofs | None) -> dict[str, Any]:
    flops, size = total_useful_flops(operators), total_bytes(operators)
    bound = _bound(operators, roofs)
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
        "bound_s": bound.seconds if bound else None,
        "bound_by": bound.bound_by if bound else None,
        "compute_s": bound.compute_s if bound else None,
        "memory_s": bound.memory_s if bound else None,
        "memory_level": roofs.memory_level if roofs else None,
    }


def _bound(operators: list[Operator], roofs: DeviceRoofs | None) -> Bound | None:
    if roofs is None:
        return None
    return step_bound(
        operators,
        peak_flops_per_s=roofs.flops_per_s,
        bandwidth_bytes_per_s=roofs.bandwidth_bytes_per_s,
        memory_level=roofs.memory_level,
    )


def _memory(
    weights: int, state: int, per_sequence: int, roofs: DeviceRoofs | None
) -> dict[str, Any]:
    """Weights and state of this load; workspace and runtime are unknown, so no margin is taken."""
    size = roofs.memory_bytes if roofs else None
    budget = memory_budget(
        weights_bytes=weights, state_bytes=state, further_bytes={}, margin=1.0, device_bytes=size
    )
    return {
        "weights_bytes": weights,
        "state_bytes": state,
        "further_bytes": None,
        "known_bytes": budget.known_bytes,
        "device_bytes": size,
        "headroom_bytes": budget.headroom_bytes,
        "fits": budget.fits,
        "sequences_that_fit": None
        if size is None
        else sequences_that_fit(
            device_bytes=size,
            weights_bytes=weights,
            further_bytes=0,
            bytes_per_sequence=per_sequence,
        ),
        "unknown": list(budget.unknown),
        "phases": phase_budget(weights_bytes=weights, state_bytes=state),
    }


def _device(roofs: DeviceRoofs | None) -> dict[str, Any] | None:
    if roofs is None:
        return None
    return {
        "name": roofs.name,
        "flops_per_s": roofs.flops_per_s,
        "bandwidth_bytes_per_s": roofs.bandwidth_bytes_per_s,
        "memory_level": roofs.memory_level,
        "memory_bytes": roofs.memory_bytes,
        "sources": list(roofs.sources),
    }


def _assumptions(structure: Structure, declared: Declared, roofs: DeviceRoofs | None) -> list[str]:
    lines = [*structure.assumptions, *declared.assumptions]
    if roofs is None:
        lines.append("no device named: no bound on time, no memory to compare with")
    else:
        lines.append(
            "bounds: every weight and stored element moves once from the named memory level, compute and "
            "traffic of one operator overlap fully, operators are serial; a bound is no prediction"
        )
        lines.append("activations stay in cache in the bound; their bytes stand apart")
    embedding = (
        "the tied embedding is read whole as the output head"
        if structure.tied
        else "of the untied input embedding only the looked-up rows are read"
    )
    return [
        *lines,
        embedding,
        "state: one sequence on one replica, logical bytes, no block rounding",
        "memory: workspace and runtime are not in the sum; that weights fit does not make a service stable",
    ]


def _refused(field: str, seen: object, allowed: str) -> ModelRefused:
    return ModelRefused(
        Finding(field=field, seen=str(seen), allowed=allowed, remedy="Correct the value.")
    )
