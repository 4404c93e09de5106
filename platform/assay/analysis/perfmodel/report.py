"""What a configuration alone says: parameters, state, weights, one decode step, one prompt, memory, layouts.

The answer of ``assay predict``; field names are stable (docs/performance-model.md). Missing is null beside a
reason in ``assumptions`` or in the field beside it.
"""

from typing import Any

from assay.analysis.perfmodel.answer.asked import Asked
from assay.analysis.perfmodel.answer.evidence_answer import (
    format_records,
    ledger_entries,
    open_hypotheses,
)
from assay.analysis.perfmodel.answer.experts_lists import experts_lists
from assay.analysis.perfmodel.answer.limits import kv_crossover, ridge_batch
from assay.analysis.perfmodel.answer.memory_answer import memory_answer
from assay.analysis.perfmodel.answer.parallel_answer import parallel_answer
from assay.analysis.perfmodel.answer.step_tables import (
    AMDAHL_ASSUMPTIONS,
    layer_rows,
    operator_rows,
    work_totals,
)
from assay.analysis.perfmodel.answer.sweep import decode_sweep, roofline
from assay.analysis.perfmodel.ledger import state_ledger, structure_table
from assay.analysis.perfmodel.operators import Operator, prompt_chunks
from assay.analysis.perfmodel.quantization.declared import Declared
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.state import StateClass, state_classes
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import (
    ParameterCounts,
    count_parameters,
    weight_bytes,
    weight_bytes_by_format,
)
from assay.analysis.perfmodel.work import NOT_COUNTED, PreparedModel, prepare


def predict(
    structure: Structure,
    declared: Declared,
    asked: Asked,
    *,
    roofs: DeviceRoofs | None,
) -> dict[str, Any]:
    """The whole answer for one model, one kind of device (or none) and one load.

    ``context`` tokens are stored per sequence before the decode step; the prompt has as many. Figures
    outside ``parallel`` are of one device that holds the whole model. No block rounding, no draft layers
    or towers.
    """
    asked.check(structure)
    prepared = prepare(
        structure,
        formats=declared.weights,
        kv_dtype=declared.kv_dtype,
        activation_dtype=declared.model_dtype,
    )
    classes = state_classes(structure, kv_dtype=declared.kv_dtype)
    decode = _decode(prepared, classes, asked, roofs)
    prefill = _prefill(prepared, asked, roofs)
    place = f"device memory ({roofs.memory_level})" if roofs else "device memory"
    return {
        "parameters": _parameters(count_parameters(structure)),
        "structure": structure_table(structure),
        "state": {
            **state_ledger(structure, declared, context=asked.context),
            **ledger_entries(classes, tokens=asked.context, place=place),
        },
        "weights": _weights(structure, declared, decode),
        "precisions": declared.precisions(),
        "formats": format_records(declared),
        "decode": decode,
        "prefill": prefill,
        "experts": experts_lists(
            structure,
            declared.weights,
            rows=asked.batch,
            element_bytes=prepared.activation_width,
            layout=asked.layout,
            experts_touched=asked.experts_touched,
        ),
        "memory": _memory(structure, declared, classes, asked, roofs),
        "parallel": parallel_answer(
            structure,
            asked,
            formats=declared.weights,
            kv_dtype=declared.kv_dtype,
            activation_dtype=declared.model_dtype,
            roofs=roofs,
        ),
        "sweep": decode_sweep(
            prepared,
            batches=asked.batches,
            contexts=asked.sweep_contexts(structure),
            roofs=roofs,
        ),
        "hypotheses": open_hypotheses(
            decode_bound_by=decode["bound_by"], prefill_bound_by=prefill["bound_by"]
        ),
        "device": _device(roofs),
        "assumptions": _assumptions(structure, declared, roofs),
        "not_modelled": [*structure.not_modelled, *NOT_COUNTED],
    }


def _parameters(counts: ParameterCounts) -> dict[str, Any]:
    """What one token runs through; what "active" leaves out is named."""
    return {
        "total": counts.total,
        "active": counts.active_all,
        "active_definitions": {
            "active_all": counts.active_all,
            "active_without_input_embedding": counts.active_without_input_embedding,
            "active_without_both_embeddings": counts.active_without_both_embeddings,
        },
        "per_routed_expert": counts.per_routed_expert,
    }


def _weights(structure: Structure, declared: Declared, decode: dict[str, Any]) -> dict[str, Any]:
    executed = weight_bytes(structure, declared.weights)
    stored = None if declared.stored is None else weight_bytes(structure, declared.stored)
    return {
        "bytes": executed,
        "bits_per_parameter": 8 * executed / count_parameters(structure).total,
        "format": declared.weights.label,
        "bytes_by_format": weight_bytes_by_format(structure, declared.weights),
        "stored_bytes": stored,
        "read_per_decode_step_bytes": decode["bytes_by"]["weights"],
    }


def _decode(
    prepared: PreparedModel, classes: list[StateClass], asked: Asked, roofs: DeviceRoofs | None
) -> dict[str, Any]:
    load = prepared.decode_load(
        batch=asked.batch, context=asked.context, experts_touched=asked.experts_touched
    )
    operators = prepared.operators(load, sampled=asked.batch)
    return {
        "batch": asked.batch,
        "context_tokens": asked.context,
        **work_totals([operators], roofs),
        "kv_crossover_tokens": kv_crossover(operators, classes, batch=asked.batch),
        "ridge": ridge_batch(prepared, roofs) if roofs else None,
        "operators": operator_rows(operators, roofs),
        "layers": layer_rows(prepared.by_kind(load), roofs),
        "amdahl_assumptions": list(AMDAHL_ASSUMPTIONS),
        "roofline": roofline(operators, roofs),
    }


def _prefill(prepared: PreparedModel, asked: Asked, roofs: DeviceRoofs | None) -> dict[str, Any]:
    """All prompts side by side; only the last chunk samples. Work runs on un-reused tokens."""
    chunks = prompt_chunks(
        tokens=asked.context, reused=asked.reused_tokens, chunk=asked.chunk_tokens
    )
    steps: list[list[Operator]] = []
    for number, chunk in enumerate(chunks, 1):
        load = prepared.load_of([(chunk, asked.batch)], experts_touched=None)
        sampled = asked.batch if number == len(chunks) else 0
        steps.append(prepared.operators(load, sampled=sampled))
    return {
        "batch": asked.batch,
        "tokens": asked.context,
        "reused_tokens": asked.reused_tokens,
        "unreused_tokens": asked.context - asked.reused_tokens,
        "chunk_tokens": asked.chunk_tokens,
        "steps": len(steps),
        **work_totals(steps, roofs),
        "operators": operator_rows(steps[-1], roofs),
        "operators_of": "the last step",
    }


def _memory(
    structure: Structure,
    declared: Declared,
    classes: list[StateClass],
    asked: Asked,
    roofs: DeviceRoofs | None,
) -> dict[str, Any]:
    per_sequence = sum(each.resident_bytes(asked.context) for each in classes)
    growing = sum(each.bytes_per_token for each in classes if each.growth == "linear")
    return memory_answer(
        weight_bytes=weight_bytes(structure, declared.weights),
        state_bytes=asked.batch * per_sequence,
        per_sequence=per_sequence,
        per_token=growing,
        device_bytes=roofs.memory_bytes if roofs else None,
        engine=asked.engine,
        way_back=asked.way_back,
    )


def _device(roofs: DeviceRoofs | None) -> dict[str, Any] | None:
    if roofs is None:
        return None
    return {
        "name": roofs.name,
        "flops_per_s": roofs.flops_per_s,
        "bandwidth_bytes_per_s": roofs.bandwidth_bytes_per_s,
        "ridge_flops_per_byte": roofs.ridge,
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
