"""Formats that a configuration declares, its companion file, and what overrides them."""

from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.declared import Declared, declared_formats
from assay.analysis.perfmodel.reading.reader import read_structure
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
        (quantized(quant_method="quip"), {}, "quantization_config.quant_method"),
        (quantized(quant_method="gptq", bits=5), {}, "quantization_config.bits"),
        ({"quantization_config": "gptq"}, {}, "quantization_config"),
        (
            quantized(quant_method="fp8", kv_cache_scheme={"num_bits": 4}),
            {},
            "quantization_config.kv_cache_scheme",
        ),
        (
            {},
            {"companion": {"quantization": {"quant_algo": "NF3"}}},
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


@pytest.mark.req("5.07")
def test_four_precisions_are_apart() -> None:
    blocks = {
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
        "kv_cache_scheme": {"num_bits": 8, "type": "int"},
    }

    found = formats({**config(LLAMA), "quantization_config": blocks}).precisions()

    assert found["weights"] == "float8_e4m3fn"
    assert (found["activations"], found["unquantized"]) == ("float8_e4m3fn", "bfloat16")
    assert found["kv"] == "int8"
    assert found["accumulation"] is None
    assert "kernels decide" in (found["accumulation_absent"] or "")


def test_a_run_spec_states_what_is_accumulated_in() -> None:
    precision = {
        "weights": {"dtype": "Q4_1", "excluded_dtypes": {}},
        "activations": {"dtype": "float32"},
        "accumulation": {"dtype": "float32"},
        "kv": {"dtype": "bfloat16"},
    }

    found = declared_formats(
        read_structure(config(LLAMA)), {"artifact": {"precision": precision}},
        companion=None, weight_dtype=None, kv_dtype=None,
    ).precisions()  # fmt: skip

    assert (found["weights"], found["activations"]) == ("q4_1", "float32")
    assert (found["accumulation"], found["kv"]) == ("float32", "bfloat16")
    assert found["accumulation_absent"] is None


@pytest.mark.req("5.25")
def test_stored_weights_say_nothing_of_what_is_executed() -> None:
    awq = {"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"}
    document = {**config(LLAMA), "quantization_config": awq}

    packed, unpacked = formats(document), formats(document, weight_dtype="float16")

    assert packed.weights is packed.stored
    assert (packed.weights.label, packed.product_dtype) == ("awq_4bit_g128_gemm", "bfloat16")
    assert unpacked.stored == packed.stored
    assert (unpacked.weights.label, unpacked.product_dtype) == ("float16", "float16")


def test_an_unknown_method_leaves_a_stated_executed_type_usable() -> None:
    document = {**config(LLAMA), "quantization_config": {"quant_method": "quip"}}

    found = formats(document, weight_dtype="bfloat16")

    assert found.stored is None
    assert found.weights.label == "bfloat16"
    assert any("quant_method" in line for line in found.assumptions)


def test_a_text_model_inside_another_is_read() -> None:
    document = config(LLAMA)
    eight = {"quant_method": "fp8"}

    nested = declared_formats(
        read_structure(document), {"text_config": {"quantization_config": eight}},
        companion=None, weight_dtype=None, kv_dtype=None,
    )  # fmt: skip

    assert nested.weights.label == "float8_e4m3fn"
