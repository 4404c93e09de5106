"""Bytes of one matrix of 256 outputs x 512 inputs (131,072 elements) as each method stores it."""

from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from tests.assay.analysis.perfmodel.quantization.placed import (
    HEAD,
    NORM,
    PLAIN_BYTES,
    TABLE,
    Q,
    formats,
    placed,
    read,
)

GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
NF4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}


@pytest.mark.parametrize(
    ("declaration", "size"),
    [
        # codes 65,536; scales 256 x 4 groups x 2 B; zeros 1024 x 4 bits; g_idx 512 x 4 B
        (GPTQ, 65_536 + 2048 + 512 + 2048),
        ({**GPTQ, "desc_act": True, "sym": False}, 65_536 + 2048 + 512 + 2048),
        # 3 bits pack whole: 131,072 x 3 / 8; zeros 1024 x 3 bits
        ({**GPTQ, "bits": 3}, 49_152 + 2048 + 384 + 2048),
        ({**GPTQ, "bits": 2, "group_size": 64}, 32_768 + 4096 + 512 + 2048),
        # one group a row: 256 scales of 2 B, 256 zeros of 1 B
        ({**GPTQ, "bits": 8, "group_size": -1}, 131_072 + 512 + 256 + 2048),
        ({**GPTQ, "checkpoint_format": "marlin"}, 65_536 + 2048),
        # AWQ has no index
        (AWQ, 65_536 + 2048 + 512),
        ({**AWQ, "zero_point": False, "version": "marlin"}, 65_536 + 2048),
        # gemv: 4 groups are padded to 8: scales 256 x 8 x 2 B, zeros 256 x 8 x 4 bits
        ({**AWQ, "version": "gemv"}, 65_536 + 4096 + 1024),
        # gemv with groups of 64: 8 groups fill one word, padded to 2: 16 of them
        ({**AWQ, "version": "gemv", "group_size": 64}, 65_536 + 8192 + 2048),
        # gemv_fast: zeros are halves too
        ({**AWQ, "version": "gemv_fast"}, 65_536 + 4096 + 4096),
        # FP8: a scale of 4 B a tensor; a second one of static activations; 2 x 4 tiles of 128 x 128
        ({"quant_method": "fp8"}, 131_072 + 4),
        ({"quant_method": "fp8", "activation_scheme": "static"}, 131_072 + 8),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 131_072 + 8 * 4),
        ({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}, 131_072 + 256 * 4),
        # bitsandbytes: int8 and a float32 a row
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 131_072 + 256 * 4),
        ({"load_in_8bit": True}, 131_072 + 256 * 4),
        # 2048 blocks of 64 with a float32 each, 16 codes of 4 B
        (NF4, 65_536 + 2048 * 4 + 64),
        # doubly: 2048 B, 8 x 4 B for 256 blocks each, tables of 64 B and 1024 B
        ({**NF4, "bnb_4bit_use_double_quant": True}, 65_536 + 2048 + 32 + 64 + 1024),
    ],
)
def test_a_matrix_takes_what_its_method_stores(declaration: dict[str, Any], size: int) -> None:
    assert formats(**declaration).bytes_of(Q) == size


@pytest.mark.parametrize("declaration", [GPTQ, AWQ, NF4, {"quant_method": "fp8"}])
def test_tables_norms_routers_and_the_head_stay_in_the_models_dtype(
    declaration: dict[str, Any],
) -> None:
    found = formats(**declaration)

    assert found.bytes_of(TABLE) == PLAIN_BYTES
    assert found.bytes_of(HEAD) == PLAIN_BYTES
    assert found.bytes_of(NORM) == 512 * 2
    assert found.bytes_of(placed("mlp.gate")) == PLAIN_BYTES
    assert found.bytes_of(placed("mlp.shared_expert_gate", rows=1)) == 512 * 2


def test_a_bias_is_never_quantized() -> None:
    # 256 biases of 2 B in each of 3 layers
    with_bias, without = placed("self_attn.q_proj", layers=3, bias=256), placed("x", layers=3)
    found = formats(**GPTQ)

    assert found.bytes_of(with_bias) - found.bytes_of(without) == 3 * 512


def test_gptq_quantizes_the_head_where_it_says_so() -> None:
    assert formats(**GPTQ, lm_head=True).bytes_of(HEAD) == formats(**GPTQ).bytes_of(Q)


def test_gptq_overrides_single_modules_by_expression() -> None:
    dynamic = {r"-:.*\.0\.self_attn\.q_proj": {}, r"+:.*self_attn\.k_proj": {"bits": 8}}
    found = formats(**GPTQ, dynamic=dynamic)
    q, k = placed("self_attn.q_proj", layers=2), placed("self_attn.k_proj")

    # layer 0 plain, layer 1 as in the first row of the table above
    assert found.bytes_of(q) == PLAIN_BYTES + 70_144
    # 8 bits: codes 131,072, scales 2048, zeros 1024, g_idx 2048
    assert found.bytes_of(k) == 136_192


def test_gptq_leaves_what_its_block_list_does_not_name() -> None:
    found = formats(**GPTQ, modules_in_block_to_quantize=[["self_attn.k_proj"], ["mlp.down_proj"]])

    assert found.bytes_of(Q) == PLAIN_BYTES
    assert found.bytes_of(placed("self_attn.k_proj")) == 70_144


def test_mxfp4_is_for_experts_alone() -> None:
    # 4.25 bits: 131,072 x 4 / 8 and 256 x 16 exponents of 1 B, 8 experts
    experts = placed("mlp.experts.*.up_proj", copies=8, chosen=4)
    found = formats(quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn"])

    assert found.bytes_of(experts) == 8 * (65_536 + 4096)
    assert found.bytes_of(Q) == PLAIN_BYTES


def test_the_scheme_of_activations_is_recorded_apart() -> None:
    blocks = read(quant_method="fp8", weight_block_size=[128, 128]).activations
    static = read(quant_method="fp8", activation_scheme="static").activations
    weights_only = read(**GPTQ).activations

    assert (blocks.dtype, blocks.scale) == ("float8_e4m3fn", "dynamic per group of 128 inputs")
    assert static.scale == "static per tensor"
    assert (weights_only.dtype, weights_only.scale) == (None, "none")


@pytest.mark.parametrize(
    ("declaration", "bits"),
    [
        (NF4, 4 + 32 / 64),  # 4.5
        ({**NF4, "bnb_4bit_use_double_quant": True}, 4 + 8 / 64 + 32 / 16384),  # 4.127
        ({"quant_method": "mxfp4"}, 4 + 8 / 32),  # 4.25
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4 + 8 / 16),  # 4.5
        (AWQ, 4 + 16 / 128 + 4 / 128),  # 4.15625
    ],
)
@pytest.mark.req("13.04")
def test_effective_bits_count_scales_of_blocks(declaration: dict[str, Any], bits: float) -> None:
    assert read(**declaration).rules[-1].stored.effective_bits == bits


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("declaration", "field"),
    [
        ({"quant_method": "quip"}, "quant_method"),
        ({"bits": 4}, "quant_method"),
        ({**GPTQ, "bits": 5}, "bits"),
        ({**GPTQ, "bits": True}, "bits"),
        ({**GPTQ, "group_size": 0}, "group_size"),
        ({**GPTQ, "outliers_kept": 3}, "outliers_kept"),
        ({**GPTQ, "checkpoint_format": "bitblas"}, "checkpoint_format"),
        ({**GPTQ, "dynamic": {"+:.*": {"bits": 7}}}, "dynamic.+:.*.bits"),
        ({**AWQ, "bits": 3}, "bits"),
        ({**AWQ, "version": "llava"}, "version"),
        ({**AWQ, "version": "gemv", "group_size": 16}, "group_size"),
        ({**AWQ, "modules_to_not_convert": "lm_head"}, "modules_to_not_convert"),
        ({"quant_method": "fp8", "fmt": "e3m4"}, "fmt"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "weight_block_size"),
        ({"quant_method": "fp8", "activation_scheme": "sometimes"}, "activation_scheme"),
        ({"quant_method": "bitsandbytes"}, "load_in_4bit"),
        ({**NF4, "load_in_8bit": True}, "load_in_4bit"),
        ({**NF4, "bnb_4bit_quant_type": "nf3"}, "bnb_4bit_quant_type"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(declaration: dict[str, Any], field: str) -> None:
    with pytest.raises(ModelRefused) as caught:
        read(**declaration)

    assert caught.value.finding.field == f"quantization_config.{field}"
