"""Parameters and bytes, counted on paper and against values computed elsewhere from the same files."""

from dataclasses import replace

import pytest

from assay.analysis.perfmodel.config_reader import read_structure
from assay.analysis.perfmodel.precision import GGUF_FORMATS, StoredFormat, dtype_bytes, plain
from assay.analysis.perfmodel.quantization import declared_formats
from assay.analysis.perfmodel.state import kv_bytes_per_token
from assay.analysis.perfmodel.weights import (
    WeightGroup,
    count_parameters,
    group_bytes,
    step_weight_bytes,
    uniform,
    weight_bytes,
    weight_groups,
)
from tests.assay.analysis.perfmodel.structures import SMOLLM2, TINY, companion, config, expected
from tests.assay.analysis.perfmodel.test_config_reader import DENSE

FLOAT32 = uniform(plain("float32", field="dtype"))


@pytest.mark.req("10.14")
@pytest.mark.parametrize("name", DENSE)
def test_real_configurations_give_the_expected_counts(name: str) -> None:
    document, wanted = config(name), expected()[name]
    structure = read_structure(document)
    counts = count_parameters(structure)
    declared = declared_formats(
        structure, document, companion=companion(name), weight_dtype=None, kv_dtype=None
    )

    assert counts.total == wanted["parameters"]["total"]
    assert counts.without_input_embedding == wanted["parameters"]["without_input_embedding"]
    per_token = kv_bytes_per_token(structure, kv_dtype=declared.kv_dtype)
    assert per_token == wanted["state"]["bytes_per_token_unbounded"]
    for tokens, size in wanted["state"]["total_bytes_per_sequence_at_tokens"].items():
        assert tokens * per_token == size


def test_tiny_model_counted_by_hand() -> None:
    # a layer: q 8x8, k 4x8, v 4x8, o 8x8 = 192; gate, up, down 3 x 128 = 384; norms 16: 592
    # 2 layers 1184, final norm 8, embedding 80, head 80: 1352
    counts = count_parameters(TINY)

    assert counts.total == 1352
    assert counts.without_input_embedding == 1272
    assert counts.without_both_embeddings == 1192


def test_a_tied_embedding_counts_once() -> None:
    tied = count_parameters(replace(TINY, tied=True))

    assert tied.total == 1272
    assert tied.without_input_embedding == 1272
    assert tied.without_both_embeddings == 1192


def test_biases_and_head_norms_are_counted() -> None:
    # q bias 8, k 4, v 4 a layer: 32; o bias 8 a layer: 16; q and k norms 2 x 4 a layer: 16
    more = replace(TINY, qkv_bias=True, output_bias=True, qk_norm=True)

    assert count_parameters(more).total == 1352 + 32 + 16 + 16


def test_smollm2_as_executed_in_float32() -> None:
    # V d 28,311,552; a layer 3,540,096 x 30 = 106,202,880; final norm 576: 134,515,008 x 4 B
    assert count_parameters(SMOLLM2).total == 134_515_008
    assert weight_bytes(SMOLLM2, FLOAT32) == 538_060_032


@pytest.mark.req("13.32")
def test_a_step_reads_a_tied_table_once_and_of_an_untied_one_only_rows() -> None:
    # untied: all 1352 x 4 B less the 80 x 4 B table, plus 3 of its 10 rows of 8: 5408 - 320 + 96
    assert step_weight_bytes(TINY, FLOAT32, rows=3) == 5184
    assert step_weight_bytes(replace(TINY, tied=True), FLOAT32, rows=3) == 1272 * 4


@pytest.mark.req("13.04", "13.05")
def test_a_packed_format_counts_its_scales() -> None:
    # Q4_1: 32 elements take 16 B and two halves, 20 B: 5 bits each. A row of 64: 2 blocks.
    group = WeightGroup(name="up_proj", rows=3, columns=64, count=2, matmul=True)

    assert GGUF_FORMATS["q4_1"].effective_bits == 5.0
    assert GGUF_FORMATS["q8_0"].effective_bits == 8.5
    assert group_bytes(group, GGUF_FORMATS["q4_1"]) == 2 * 3 * 2 * 20


def test_blocks_do_not_wrap_into_the_next_row() -> None:
    # 40 columns need two blocks of 32: 3 rows x 2 blocks x 2 B of scale, and 3 x 40 x 4 bits
    group = WeightGroup(name="up_proj", rows=3, columns=40, count=1, matmul=True)

    assert group_bytes(group, StoredFormat(name="x", bits=4, block=32, scale_bits=16)) == 60 + 12


def test_gptq_bytes_equal_the_published_file() -> None:
    name = "TheBloke__Llama-2-13B-chat-GPTQ"
    structure = read_structure(config(name))
    declared = declared_formats(
        structure, config(name), companion=None, weight_dtype=None, kv_dtype=None
    )

    assert weight_bytes(structure, declared.weights) == expected()[name]["weight_bytes"]


def test_groups_of_the_model_are_named_once() -> None:
    names = [group.name for group in weight_groups(SMOLLM2)]

    assert len(names) == len(set(names))
    assert dtype_bytes("bf16", field="x") == 2
