"""Predicted work: FLOPs and bytes of the run's own steps, and the tokens it will process."""

from assay.analysis.forecast.rows import ENGINE_LOOP, WORK, exact_row
from assay.analysis.forecast.shapes import RequestShape, RunShape
from assay.analysis.forecast.terms import Executed
from assay.analysis.perfmodel.operators import (
    SequenceStep,
    decode_sequences,
    total_bytes,
    total_executed_flops,
    total_useful_flops,
)
from runners.protocol.documents import Prediction

_NO_COUNTER = "a hardware counter or a trace of the operators that ran, with another count"


def work_rows(executed: Executed, shape: RunShape, *, validity: str) -> list[Prediction]:
    """FLOPs and bytes per decode step and per prompt, and tokens by segment.

    Bytes are weights and state beyond the caches, each once; useful FLOPs, and beside them executed ones.
    """
    rows: list[Prediction] = []
    batches = sorted({1, shape.sequences or shape.engine.max_batch or 1})
    for batch in batches:
        rows += _decode(executed, shape.load, batch=batch, validity=validity)
    for request in (*shape.cases, shape.load):
        rows += _prompt(executed, request, validity=validity)
    for request in (*shape.cases, shape.load):
        rows.append(
            exact_row(
                "prompt_tokens",
                WORK,
                request.input_tokens * request.requests,
                "token",
                layer=ENGINE_LOOP,
                conditions=request.conditions() | {"requests": request.requests},
                validity=validity,
                overturned_by="another number of prompt tokens in the engine's iterations "
                "(a prefix hit, a retry, a recomputation)",
            )
        )
    return rows


def _decode(
    executed: Executed, request: RequestShape, *, batch: int, validity: str
) -> list[Prediction]:
    context = request.mean_context
    operators = executed.operators(decode_sequences(batch=batch, context=context), sampled=batch)
    conditions = {"phase": "decode", "batch": batch, "context_tokens": context}
    values = (
        ("decode_step_flops", total_useful_flops(operators), "FLOP"),
        ("decode_step_bytes", total_bytes(operators), "byte"),
    )
    return [
        exact_row(
            quantity,
            WORK,
            value,
            unit,
            layer=ENGINE_LOOP,
            conditions=conditions,
            validity=validity,
            overturned_by=_NO_COUNTER,
        )
        for quantity, value, unit in values
    ]


def _prompt(executed: Executed, request: RequestShape, *, validity: str) -> list[Prediction]:
    operators = executed.operators(
        [SequenceStep(new=request.input_tokens, stored=0)],
        sampled=1,
    )
    values = (
        ("prompt_flops", total_useful_flops(operators)),
        ("prompt_flops_executed", total_executed_flops(operators)),
    )
    return [
        exact_row(
            quantity,
            WORK,
            value,
            "FLOP",
            layer=ENGINE_LOOP,
            conditions=request.conditions(),
            validity=validity,
            overturned_by=_NO_COUNTER,
        )
        for quantity, value in values
    ]
