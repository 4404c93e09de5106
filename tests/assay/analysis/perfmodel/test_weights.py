"""Parameters and bytes of small models, counted on paper."""

import pytest

from assay.analysis.perfmodel.precision import dtype_bytes, plain
from assay.analysis.perfmodel.quantization.weight_formats import uniform
from assay.analysis.perfmodel.weights import (
    count_parameters,
    placed_tensors,
    step_weight_bytes,
    weight_bytes,
)
from tests.assay.analysis.perfmodel.structures import (
    SMOLLM2,
    TINY,
    tiny,
)

FLOAT32 = uniform(plain("float32", field="dtype"))


def test_tiny_model_counted_by_hand() -> None:
    # a layer: q 8x8, k 4x8, v 4x8, o 8x8 = 192; gate, up, down 3 x 128 = 384; norms 16: 592
    # 2 layers 1184, final norm 8, embedding 80, head 80: 1352
    counts = count_parameters(TINY)

    assert counts.total == 1352
    assert counts.without_input_embedding == 1272
    assert counts.without_both_embeddings == 1192


def test_a_tied_embedding_counts_once() -> None:
    tied = count_parameters(tiny(tied=True))

    assert tied.total == 1272
    assert tied.without_input_embedding == 1272
    assert tied.without_both_embeddings == 1192


def test_biases_and_head_norms_are_counted() -> None:
    # q bias 8, k 4, v 4 a layer: 32; o bias 8 a layer: 16; q and k norms 2 x 4 a layer: 16
    more = tiny(biases=True, qk_norm=True)

    assert count_parameters(more).total == 1352 + 32 + 16 + 16


def test_smollm2_as_executed_in_float32() -> None:
    # V d 28,311,552; a layer 3,540,096 x 30 = 106,202,880; final norm 576: 134,515,008 x 4 B
    assert count_parameters(SMOLLM2).total == 134_515_008
    assert weight_bytes(SMOLLM2, FLOAT32) == 538_060_032


@pytest.mark.req("13.32")
def test_a_step_reads_a_tied_table_once_and_of_an_untied_one_only_rows() -> None:
    # untied: all 1352 x 4 B less the 80 x 4 B table, plus 3 of its 10 rows of 8: 5408 - 320 + 96
    assert step_weight_bytes(TINY, FLOAT32, rows=3) == 5184
    assert step_weight_bytes(tiny(tied=True), FLOAT32, rows=3) == 1272 * 4


def test_tensors_of_the_model_are_named_once() -> None:
    names = [placed.tensor.module for placed in placed_tensors(SMOLLM2)]

    assert len(names) == len(set(names))
    assert dtype_bytes("bf16", field="x") == 2
