"""ModelOpt's algorithms in ``config.json`` and in the companion: 256 x 512 elements each."""

from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.modelopt import read_companion
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from tests.assay.analysis.perfmodel.quantization.placed import (
    BFLOAT16,
    HEAD,
    PLAIN_BYTES,
    Q,
    formats,
    placed,
    read,
)


def companion(**quantization: Any) -> WeightFormats:
    document = {"producer": {"name": "modelopt"}, "quantization": quantization}
    found = read_companion(document, BFLOAT16)
    return WeightFormats(label=found.label, rest=BFLOAT16, rules=found.rules)


@pytest.mark.parametrize(
    ("algorithm", "size"),
    [
        # a weight scale and an input scale of 4 B
        ("FP8", 131_072 + 8),
        ("FP8_PER_CHANNEL_PER_TOKEN", 131_072 + 1024),
        ("FP8_PB_WO", 131_072 + 8 * 4),
        ("FP8_BLOCK_SCALES", 131_072 + 8 * 4),
        # FP8 scales of 16 elements, two float32
        ("NVFP4", 65_536 + 8192 + 8),
        # weights alone: one float32
        ("W4A16_NVFP4", 65_536 + 8192 + 4),
        # and what its 512 inputs are divided by, 2 B each
        ("NVFP4_AWQ", 65_536 + 8192 + 8 + 1024),
        # 1024 float32 scales, 512 divisors of inputs
        ("W4A16_AWQ", 65_536 + 4096 + 1024),
        # and one scale each for the FP8 steps of weights and inputs
        ("W4A8_AWQ", 65_536 + 4096 + 1024 + 8),
        ("W4A8_MXFP4_FP8", 65_536 + 4096),
        ("W8A16", 131_072 + 1024),
        ("W8A8_SQ_PER_CHANNEL", 131_072 + 1024 + 1024 + 4),
        (None, PLAIN_BYTES),
    ],
)
def test_a_matrix_takes_what_its_algorithm_stores(algorithm: str | None, size: int) -> None:
    assert companion(quant_algo=algorithm).bytes_of(Q) == size
    assert formats(quant_method="modelopt", quant_algo=algorithm).bytes_of(Q) == size


@pytest.mark.parametrize("field", ["exclude_modules", "ignore"])
def test_excluded_modules_are_globs(field: str) -> None:
    globs = ["lm_head", "language_model.model.layers.1.self_attn*", "*.mlp.shared_expert.*"]
    found = formats(quant_method="modelopt", quant_algo="FP8", **{field: globs})

    assert found.bytes_of(HEAD) == PLAIN_BYTES
    # layer 0 in FP8, layer 1 as it was
    assert found.bytes_of(placed("self_attn.q_proj", layers=2)) == 131_080 + PLAIN_BYTES
    assert found.bytes_of(placed("mlp.shared_experts.up_proj")) == PLAIN_BYTES
    assert companion(quant_algo="FP8").bytes_of(HEAD) == 131_080  # not excluded there


def test_an_exporter_that_names_no_method_is_known_by_its_own_name() -> None:
    by_producer = read(producer={"name": "modelopt", "version": "0.41"}, quant_algo="NVFP4")
    nested = read(quant_method="modelopt", quantization={"quant_algo": "NVFP4"})

    assert by_producer.label == nested.label == "nvfp4"


def test_mixed_precision_names_each_module_with_its_algorithm() -> None:
    layers = {
        "model.layers.0.self_attn.qkv_proj": {"quant_algo": "FP8"},
        "model.layers.0.mlp.experts": {"quant_algo": "NVFP4", "group_size": 16},
        "model.layers.1.mlp.experts": {"quant_algo": "NVFP4", "group_size": 16},
    }
    found = companion(quant_algo="MIXED_PRECISION", quantized_layers=layers)

    assert found.label == "nvfp4"
    assert found.bytes_of(placed("self_attn.k_proj", layers=2)) == 131_080 + PLAIN_BYTES
    assert found.bytes_of(placed("self_attn.o_proj")) == PLAIN_BYTES
    experts = placed("mlp.experts.*.up_proj", layers=2, copies=4)
    assert found.bytes_of(experts) == 2 * 4 * (65_536 + 8192 + 8)


def test_mixed_precision_in_groups_reads_their_targets() -> None:
    eight = {"num_bits": 8, "type": "float", "dynamic": False}
    group = {
        "weights": eight,
        "input_activations": eight,
        "targets": ["model.layers.0.mlp.up_proj"],
    }
    found = formats(
        quant_method="modelopt", quant_algo="MIXED_PRECISION", config_groups={"group_0": group}
    )

    assert found.bytes_of(placed("mlp.up_proj")) < PLAIN_BYTES
    assert found.bytes_of(Q) == PLAIN_BYTES


@pytest.mark.parametrize(
    ("algorithm", "dtype"),
    [
        ("FP8", "float8_e4m3fn"),
        ("NVFP4", "float4_e2m1fn"),
        ("FP8_PB_WO", None),
        ("W4A16_AWQ", None),
    ],
)
def test_activations_follow_the_algorithm(algorithm: str, dtype: str | None) -> None:
    assert read(quant_method="modelopt", quant_algo=algorithm).activations.dtype == dtype


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"quantization": {"quant_algo": "FP5"}}, "quantization.quant_algo"),
        ({"quantization": {"quant_algo": "NVFP4", "group_size": 0}}, "quantization.group_size"),
        ({"quantization": {"quant_algo": "FP8", "rotation": "hadamard"}}, "quantization.rotation"),
        (
            {
                "quantization": {
                    "quant_algo": "MIXED_PRECISION",
                    "quantized_layers": {"model.layers.0": {"quant_algo": "W2A2"}},
                }
            },
            "quantization.quantized_layers.model.layers.0.quant_algo",
        ),
        ({"quant_algo": "FP8"}, "quantization"),
    ],
)
def test_a_companion_that_is_not_understood_is_refused_by_name(
    document: dict[str, Any], field: str
) -> None:
    with pytest.raises(ModelRefused) as caught:
        read_companion(document, BFLOAT16)

    assert caught.value.finding.field == f"quant-config.{field}"
