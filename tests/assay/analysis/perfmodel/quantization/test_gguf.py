"""GGUF types: bits of every block, mixtures refused, and a header's own list."""

import pytest
from gguf.constants import GGML_QUANT_SIZES

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.gguf import (
    GGUF_FORMATS,
    declared_precision,
    gguf_format,
    tensor_formats,
)
from assay.analysis.perfmodel.tensors import PlacedTensor, Tensor, TensorKind
from tests.assay.analysis.perfmodel.quantization.placed import HEAD, NORM, TABLE, Q, placed

INTEGERS = {"I16", "I32", "I64"}  # of positions and lists, never of weights
SIZES = {kind.name: sizes for kind, sizes in GGML_QUANT_SIZES.items() if kind.name not in INTEGERS}


@pytest.mark.req("13.04")
@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("Q4_0", 4.5),  # 32 elements: 16 B and a half, 18 B x 8 / 32
        ("Q4_1", 5.0),
        ("Q5_0", 5.5),
        ("Q5_1", 6.0),
        ("Q8_0", 8.5),
        ("Q2_K", 2.625),  # 256 elements: 84 B
        ("Q3_K", 3.4375),
        ("Q4_K", 4.5),  # 128 B, 12 B of scales and minimums, two halves: 144 B x 8 / 256
        ("Q5_K", 5.5),
        ("Q6_K", 6.5625),
        ("IQ2_XXS", 2.0625),
        ("IQ4_NL", 4.5),
        ("IQ4_XS", 4.25),
        ("TQ1_0", 1.6875),
        ("TQ2_0", 2.0625),
        ("MXFP4", 4.25),
        ("BF16", 16.0),
        ("F32", 32.0),
    ],
)
def test_types_have_their_true_bits(name: str, bits: float) -> None:
    assert gguf_format(name, field="x").effective_bits == bits


@pytest.mark.parametrize("name", SIZES)
def test_every_type_of_the_public_library_has_its_size(name: str) -> None:
    block, size = SIZES[name]

    assert gguf_format(name, field="x").tensor_bytes(3, 4 * block) == 3 * 4 * size


@pytest.mark.forbids
@pytest.mark.req("5.08")
@pytest.mark.parametrize(
    "name",
    [
        "Q4_K_M",
        "Q4_K_S",
        "Q3_K_L",
        "Q5_K_M",
        "Q2_K_S",
        "IQ3_M",
        "IQ3_XS",
        "UD-Q4_K_XL",
        "Q6_K_L",
        "MXFP4_MOE",
    ],
)
def test_a_kind_of_file_is_no_type(name: str) -> None:
    with pytest.raises(ModelRefused) as caught:
        gguf_format(name, field="artifact.precision.weights.dtype")

    assert "mixture" in caught.value.finding.remedy
    assert caught.value.finding.seen == name


def test_a_header_gives_each_tensor_its_own_type() -> None:
    experts = placed("mlp.experts.*.down_proj", copies=4)
    found = tensor_formats(
        {
            "token_embd.weight": "Q6_K",
            "output.weight": "Q8_0",
            "blk.0.attn_q.weight": "Q4_K",
            "blk.1.attn_q.weight": "Q6_K",
            "blk.0.attn_norm.weight": "F32",
            "blk.0.ffn_down_exps.weight": "Q5_K",
        }
    )

    # 512 columns are two blocks of 256; 256 rows
    assert found.bytes_of(TABLE) == 256 * 2 * 210
    assert found.bytes_of(HEAD) == 256 * 16 * 34
    assert found.bytes_of(placed("self_attn.q_proj", layers=2)) == 256 * 2 * (144 + 210)
    assert found.bytes_of(NORM) == 512 * 4
    assert found.bytes_of(experts) == 4 * 256 * 2 * 176


@pytest.mark.forbids
def test_a_tensor_that_the_header_lacks_is_refused() -> None:
    found = tensor_formats({"blk.0.attn_q.weight": "Q4_K"})

    with pytest.raises(ModelRefused) as caught:
        found.bytes_of(placed("self_attn.k_proj"))

    assert "self_attn.k_proj of layer 0" in caught.value.finding.seen


def test_an_artifact_declares_its_exceptions_by_glob() -> None:
    found = declared_precision(
        {"dtype": "Q4_1", "excluded_dtypes": {"token_embd.weight": "Q8_0", "*_norm.weight": "F32"}}
    )
    biased = PlacedTensor(
        tensor=Tensor(module="self_attn.q_proj", rows=256, columns=512, bias=256), layers=(0,)
    )

    assert found.bytes_of(Q) == 256 * 16 * 20
    assert found.bytes_of(TABLE) == 256 * 16 * 34
    assert found.bytes_of(NORM) == 512 * 4
    assert found.bytes_of(biased) - found.bytes_of(Q) == 256 * 4  # biases of such files are float32


def test_a_plain_artifact_has_one_type_throughout() -> None:
    found = declared_precision({"dtype": "bfloat16", "excluded_dtypes": {}})
    shift = placed("input_layernorm", rows=1, bias=512, kind=TensorKind.VECTOR)

    assert found.label == "bfloat16"
    assert found.bytes_of(shift) == 2 * 512 * 2


def test_scales_lie_inside_the_blocks() -> None:
    # Q4_K: 256 elements of 4 bits, 96 bits of scales and minimums and two halves
    stored = GGUF_FORMATS["q4_k"]

    assert stored.bits == 4.0
    assert stored.scales[0].bits == 128
