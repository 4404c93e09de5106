"""Every configuration on disk through the whole model: nothing is lost on the way, and in time."""

import time
from functools import cache
from typing import Any

import pytest

from assay.analysis.perfmodel.answer.asked import Asked
from assay.analysis.perfmodel.operators import decode_sequences
from assay.analysis.perfmodel.precision import plain
from assay.analysis.perfmodel.quantization.declared import declared_formats
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.report import predict
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.tensors import TensorKind
from assay.analysis.perfmodel.weights import placed_tensors
from assay.analysis.perfmodel.work import step_operators
from tests.assay.analysis.perfmodel.structures import companion, config, expected

NAMES = sorted(expected())
LARGE = "deepseek-ai__DeepSeek-V3.2"


@cache
def structure_of(name: str) -> Structure:
    return read_structure(config(name))


def answer(name: str, **asked: Any) -> dict[str, Any]:
    document = config(name)
    structure = read_structure(document)
    declared = declared_formats(
        structure, document, companion=companion(name), weight_dtype=None, kv_dtype=None
    )
    load: dict[str, Any] = {"batch": 1, "context": 256, "batches": (1,), "contexts": (256,)}
    return predict(structure, declared, Asked(**(load | asked)), roofs=None)


@pytest.mark.parametrize("name", NAMES)
def test_a_decode_step_multiplies_with_every_active_matrix_once(name: str) -> None:
    structure = structure_of(name)
    matrices = [p for p in placed_tensors(structure) if p.tensor.kind is TensorKind.MATMUL]
    active = sum(
        p.tensor.rows * p.tensor.columns * (p.tensor.chosen or p.tensor.copies) * p.times
        for p in matrices
    )
    head = structure.embedding.elements if structure.tied else 0  # else it is among the matrices

    operators = step_operators(
        structure,
        decode_sequences(batch=1, context=256),
        formats=uniform(plain("bfloat16", field="dtype")),
        kv_dtype="bfloat16",
        activation_dtype="bfloat16",
        sampled=1,
    )

    assert sum(o.useful_flops for o in operators if o.kind == "matmul") == 2 * (active + head)


@pytest.mark.parametrize("name", NAMES)
def test_the_state_ledger_adds_up(name: str) -> None:
    state = answer(name)["state"]
    proper = [each for each in state["by_class"] if each["in_total"]]

    assert state["bytes_at_context"] == sum(c["resident_bytes_at_context"] for c in proper)
    assert state["constant_bytes_per_sequence"] == sum(c["constant_bytes"] for c in proper)
    assert all(c["read_bytes_at_context"] <= c["resident_bytes_at_context"] for c in proper)


@pytest.mark.req("10.20")
def test_the_answer_lists_both_sums_where_the_recurrent_dtype_is_not_declared() -> None:
    undeclared = answer("nvidia__Nemotron-H-56B-Base-8K", context=1024)
    declared = answer("Qwen__Qwen3.5-27B", context=1024)

    assert undeclared["state"]["bytes_at_context_by_recurrent_dtype"] == {
        "undeclared, if float32": 954_548_224,
        "undeclared, if bfloat16": 501_563_392,
    }
    assert any("recurrent state undeclared" in line for line in undeclared["assumptions"])
    recurrent = next(c for c in undeclared["state"]["by_class"] if c["class"] == "mamba2_state")
    sizes = [each["constant_bytes"] for each in recurrent["alternatives"]]
    assert sizes == [54 * 4_194_304 * 4, 54 * 4_194_304 * 2]
    assert declared["state"]["bytes_at_context_by_recurrent_dtype"] == {"declared": 221_052_928}


def test_all_of_them_take_less_than_five_seconds() -> None:
    start = time.process_time()

    for name in NAMES:
        answer(name)

    assert time.process_time() - start < 5


def test_thirty_two_points_of_one_model_take_less_than_a_fifth_of_a_second() -> None:
    points = {"batches": (1, 8, 32, 128), "contexts": tuple(2**n for n in range(7, 15))}
    answer(LARGE, **points)

    taken = []
    for _ in range(3):
        start = time.process_time()
        found = answer(LARGE, **points)
        taken.append(time.process_time() - start)

    assert len(found["sweep"]["rows"]) == 32
    assert min(taken) < 0.2
