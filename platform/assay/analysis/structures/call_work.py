"""Algorithmic work of one model call, in FLOP, from the model's own shape.

The prompt's un-reused tokens run once over the reused ones; each further output token is one step over what
is stored by then. The last output token is sampled and never run.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import rfc8785

from assay.analysis.absence import Absent
from assay.analysis.errors import AnalysisError
from assay.analysis.perfmodel.operators import SequenceStep, total_useful_flops
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.reading.artifact import read_artifact_config
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.work import step_operators

_ANY = "float32"  # FLOPs are the same in any format


def call_flops(
    model: Mapping[str, Any] | None, *, prompt: int | None, reused: int | None, output: int | None
) -> int | Absent:
    """Useful FLOPs (causal pairs, 2 FLOP a multiply-add); Absent says which figure is missing."""
    if model is None:
        return Absent("no model configuration was declared")
    for figure, name in ((prompt, "prompt"), (reused, "reused"), (output, "output")):
        if figure is None:
            return Absent(f"the count of {name} tokens is not known")
    assert prompt is not None
    assert reused is not None
    assert output is not None
    try:
        structure = _structure(rfc8785.dumps(dict(model)))
    except AnalysisError as error:
        return Absent(f"the performance model does not know this model: {error}")
    work = _step(structure, new=prompt - reused, stored=reused)
    steps = max(0, output - 1)
    if steps:
        # A step's work grows by the same amount with each stored token: the mean of first and last, times n.
        first = _step(structure, new=1, stored=prompt)
        last = _step(structure, new=1, stored=prompt + steps - 1)
        work += steps * (first + last) // 2
    return work


@cache
def _structure(config: bytes) -> Structure:
    return read_artifact_config(json.loads(config))


@cache
def _step(structure: Structure, *, new: int, stored: int) -> int:
    if new <= 0:
        return 0
    operators = step_operators(
        structure,
        [SequenceStep(new=new, stored=stored)],
        formats=uniform(plain(_ANY, field="dtype")),
        kv_dtype=_ANY,
        activation_dtype=_ANY,
        sampled=1,
    )
    return total_useful_flops(operators)
