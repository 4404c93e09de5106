"""compressed-tensors: what each scheme stores for 256 x 512 elements, and whom its targets mean."""

from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from tests.assay.analysis.perfmodel.quantization.placed import (
    BFLOAT16,
    HEAD,
    PLAIN_BYTES,
    TABLE,
    Q,
    formats,
    placed,
    read,
)

INT4 = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 128}
FP8 = {"num_bits": 8, "type": "float", "strategy": "channel"}
NVFP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}
TOKENS = {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True}
STATIC = {"num_bits": 8, "type": "float", "strategy": "tensor", "dynamic": False}


def scheme(
    layout: str, weights: dict[str, Any] | None, *, targets: list[str] | None = None, **more: Any
) -> dict[str, Any]:
    inputs = more.pop("inputs", None)
    group = {"targets": targets or ["Linear"], "weights": weights, "input_activations": inputs}
    return {
        "quant_method": "compressed-tensors",
        "format": layout,
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
        **more,
    }


def declared(*given: Any, **more: Any) -> WeightFormats:
    return formats(**scheme(*given, **more))


@pytest.mark.parametrize(
    ("layout", "weights", "inputs", "size"),
    [
        # codes 65,536; scales 1024 x 2 B; the shape, two int64
        ("pack-quantized", INT4, None, 65_536 + 2048 + 16),
        # zeros of 4 bits packed beside the scales
        ("pack-quantized", {**INT4, "symmetric": False}, None, 65_536 + 2048 + 512 + 16),
        # an int32 an input where groups are reordered; reordering weights alone stores none
        ("pack-quantized", {**INT4, "actorder": "group"}, None, 65_536 + 2048 + 16 + 2048),
        ("pack-quantized", {**INT4, "actorder": "weight"}, None, 65_536 + 2048 + 16),
        # 3 bits: ten a word, 52 words a row
        ("pack-quantized", {**INT4, "num_bits": 3}, None, 256 * 52 * 4 + 2048 + 16),
        ("int-quantized", {"num_bits": 8, "strategy": "channel"}, None, 131_072 + 512),
        ("float-quantized", FP8, TOKENS, 131_072 + 512),
        ("float-quantized", {**FP8, "scale_dtype": "float32"}, TOKENS, 131_072 + 1024),
        # one scale of 2 B for the weight and one for static inputs
        ("float-quantized", {"num_bits": 8, "type": "float"}, STATIC, 131_072 + 2 + 2),
        # 2 x 4 tiles
        (
            "float-quantized",
            {**FP8, "strategy": "block", "block_structure": [128, 128]},
            None,
            131_072 + 8 * 2,
        ),
        # 8192 FP8 scales of 16, one float32; a second where inputs are quantized
        ("nvfp4-pack-quantized", NVFP4, None, 65_536 + 8192 + 4),
        ("nvfp4-pack-quantized", NVFP4, {**NVFP4, "dynamic": "local"}, 65_536 + 8192 + 8),
        ("mxfp4-pack-quantized", {**NVFP4, "group_size": 32}, None, 65_536 + 4096),
        # only K/V are quantized
        ("float-quantized", None, None, PLAIN_BYTES),
    ],
)
def test_a_matrix_takes_what_its_scheme_stores(
    layout: str, weights: dict[str, Any] | None, inputs: dict[str, Any] | None, size: int
) -> None:
    assert declared(layout, weights, inputs=inputs).bytes_of(Q) == size


def test_a_class_means_all_products_but_what_is_ignored() -> None:
    found = declared("float-quantized", FP8, ignore=["re:.*k_proj$"])

    assert found.bytes_of(placed("self_attn.k_proj")) == PLAIN_BYTES
    assert found.bytes_of(HEAD) == 131_072 + 512  # a Linear as any other, and not ignored here
    assert found.bytes_of(placed("mlp.gate")) == PLAIN_BYTES
    assert found.bytes_of(TABLE) == PLAIN_BYTES


def test_a_target_is_a_name_an_expression_or_a_class() -> None:
    named = declared("float-quantized", FP8, targets=["re:.*self_attn.*", "mlp.down_proj"])
    tables = declared("float-quantized", FP8, targets=["Embedding"])

    assert named.bytes_of(Q) == named.bytes_of(placed("mlp.down_proj")) == 131_072 + 512
    assert named.bytes_of(placed("mlp.up_proj")) == PLAIN_BYTES
    assert tables.bytes_of(TABLE) == 131_072 + 512


def test_a_name_goes_before_a_class_whatever_their_order() -> None:
    first = {"targets": ["Linear"], "weights": FP8, "format": "float-quantized"}
    second = {"targets": ["re:.*down_proj"], "weights": INT4, "format": "pack-quantized"}
    found = formats(
        quant_method="compressed-tensors", config_groups={"group_0": first, "group_1": second}
    )

    assert found.bytes_of(placed("mlp.down_proj")) == 65_536 + 2048 + 16
    assert found.bytes_of(Q) == 131_072 + 512


@pytest.mark.parametrize(
    ("inputs", "dtype", "scale"),
    [
        (TOKENS, "float8_e4m3fn", "dynamic per token"),
        (STATIC, "float8_e4m3fn", "static per tensor"),
        ({"num_bits": 8, "type": "int", "dynamic": True, "strategy": "token"}, "int8", None),
        ({**NVFP4, "dynamic": "local"}, "float4_e2m1fn", None),
        (None, None, "none"),
    ],
)
def test_inputs_are_recorded_apart_from_weights(
    inputs: dict[str, Any] | None, dtype: str | None, scale: str | None
) -> None:
    found = read(**scheme("float-quantized", FP8, inputs=inputs))

    assert found.activations.dtype == dtype
    assert scale is None or found.activations.scale == scale


def test_a_group_may_be_packed_in_its_own_way() -> None:
    group = {"targets": ["Linear"], "weights": NVFP4, "format": "nvfp4-pack-quantized"}
    found = formats(
        quant_method="compressed-tensors",
        format="mixed-precision",
        quantization_status="frozen",
        config_groups={"group_0": group},
    )

    assert found.bytes_of(Q) == 65_536 + 8192 + 4


def test_scales_have_the_models_own_dtype() -> None:
    # bfloat16: 2 B; what is read before it is quantized decides
    assert BFLOAT16.bits == 16
    assert declared("float-quantized", FP8).bytes_of(Q) == 131_072 + 256 * 2


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("declaration", "field"),
    [
        (scheme("marlin-24", INT4), "format"),
        (
            scheme("pack-quantized", {**INT4, "num_bits": 9}),
            "config_groups.group_0.weights.num_bits",
        ),
        (
            scheme("pack-quantized", {**INT4, "strategy": "diagonal"}),
            "config_groups.group_0.weights.strategy",
        ),
        (
            scheme("pack-quantized", {**INT4, "codebook": 7}),
            "config_groups.group_0.weights.codebook",
        ),
        (
            scheme("float-quantized", {**FP8, "strategy": "block"}),
            "config_groups.group_0.weights.block_structure",
        ),
        (
            scheme("float-quantized", {**FP8, "num_bits": 6}),
            "config_groups.group_0.weights.num_bits",
        ),
        (
            scheme("float-quantized", FP8, inputs={"num_bits": 6, "type": "float"}),
            "config_groups.group_0.input_activations.num_bits",
        ),
        (scheme("float-quantized", FP8, quantization_status="initialized"), "quantization_status"),
        (
            scheme("float-quantized", FP8, sparsity_config={"format": "sparse-24-bitmask"}),
            "sparsity_config",
        ),
        (scheme("float-quantized", FP8, config_groups={}), "config_groups"),
    ],
)
def test_a_scheme_that_is_not_understood_is_refused_by_name(
    declaration: dict[str, Any], field: str
) -> None:
    with pytest.raises(ModelRefused) as caught:
        read(**declaration)

    assert caught.value.finding.field == f"quantization_config.{field}"
