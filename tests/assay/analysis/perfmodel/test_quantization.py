"""Formats that a configuration declares, its companion file, and what overrides them."""

from typing import Any

import pytest

from assay.analysis.perfmodel.config_reader import read_structure
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization import Declared, declared_formats
from assay.analysis.perfmodel.weights import weight_bytes
from tests.assay.analysis.perfmodel.structures import companion, config

LLAMA = "meta-llama__Llama-3.1-8B"


def formats(document: dict[str, Any], **given: Any) -> Declared:
    wanted = {"companion": None, "weight_dtype": None, "kv_dtype": None} | given
    return declared_formats(read_structure(document), document, **wanted)


def test_fp8_blocks_carry_a_scale_each() -> None:
    blocks = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    document = {**config(LLAMA), "quantization_config": blocks}
    structure = read_structure(document)
    # Layers: 6,979,321,856 elements in 128 x 128 tiles of 4 B: 1 B + 4/16384 B each. The rest
    # (two tables of 525,336,576 and 65 norms of 4096) stays at 2 B.
    layers = 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 14336 * 4096)
    wanted = layers + layers // 16384 * 4 + 2 * (2 * 128256 * 4096 + 65 * 4096)

    assert layers == 6_979_321_856
    assert weight_bytes(structure, formats(document).weights) == wanted


def test_the_companion_declares_weights_and_the_cache() -> None:
    name = "nvidia__Llama-3.1-70B-Instruct-FP8"

    declared = formats(config(name), companion=companion(name))

    assert (declared.kv_dtype, declared.kv_source) == ("float8_e4m3fn", "companion")
    assert declared.weights.label == "float8_e4m3fn"
    assert formats(config(name)).kv_dtype == "bfloat16"  # config.json alone says nothing of it


def test_the_command_line_goes_before_every_file() -> None:
    name = "nvidia__Llama-3.1-70B-Instruct-FP8"

    declared = formats(
        config(name), companion=companion(name), weight_dtype="float32", kv_dtype="bf16"
    )

    assert declared.weights.label == "float32"
    assert (declared.kv_dtype, declared.kv_source) == ("bfloat16", "command line")


@pytest.mark.parametrize(
    ("pattern", "layers"),
    [
        ("model.layers.0.mlp.down_proj", 1),
        ("down_proj", 32),
        ("model.layers.[01].mlp.down_proj", 2),
        ("re:.*layers\\.(7|9)\\.mlp\\.down.*", 2),
        ("visual", 0),
    ],
)
def test_excluded_modules_keep_the_configurations_dtype(pattern: str, layers: int) -> None:
    plain = {"quant_method": "fp8", "modules_to_not_convert": []}
    excluding = {"quant_method": "fp8", "modules_to_not_convert": [pattern]}

    def size(quantized: dict[str, Any]) -> int:
        document = {**config(LLAMA), "quantization_config": quantized}
        return weight_bytes(read_structure(document), formats(document).weights)

    # one byte an element more, less one 4-byte scale a tensor
    assert size(excluding) - size(plain) == layers * (4096 * 14336 - 4)


def test_an_undeclared_dtype_is_an_assumption_said_aloud() -> None:
    document = config(LLAMA)
    del document["torch_dtype"]

    declared = formats(document)

    assert (declared.kv_dtype, declared.kv_source) == ("bfloat16", "assumed")
    assert len([line for line in declared.assumptions if "bfloat16" in line]) == 2


def quantized(**fields: Any) -> dict[str, Any]:
    return {"quantization_config": fields}


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("changes", "given", "field"),
    [
        (quantized(quant_method="awq"), {}, "quantization_config.quant_method"),
        (
            quantized(quant_method="gptq", bits=3, group_size=128),
            {},
            "quantization_config.bits/group_size",
        ),
        (
            quantized(quant_method="fp8", kv_cache_scheme={"num_bits": 4}),
            {},
            "quantization_config.kv_cache_scheme",
        ),
        (
            {},
            {"companion": {"quantization": {"quant_algo": "NVFP4"}}},
            "quant-config.quantization.quant_algo",
        ),
        ({}, {"weight_dtype": "4bit"}, "weight-dtype"),
        ({}, {"kv_dtype": "int3"}, "kv-dtype"),
    ],
)
def test_a_format_that_is_not_understood_is_refused_by_name(
    changes: dict[str, Any], given: dict[str, Any], field: str
) -> None:
    with pytest.raises(ModelRefused) as caught:
        formats({**config(LLAMA), **changes}, **given)

    assert caught.value.finding.field == field
