"""Weight bytes of published checkpoints from their configurations alone.

Each is worked out here a second time: Q quantized elements in closed form, P parameters counted elsewhere
(EXPECTED.yaml), the rest at two bytes.
"""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from assay.analysis.perfmodel.quantization.declared import Declared, declared_formats
from assay.analysis.perfmodel.quantization.gguf import tensor_formats
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.state import state_classes
from assay.analysis.perfmodel.weights import (
    placed_tensors,
    weight_bytes,
    weight_bytes_by_format,
)
from runners.artifacts import gguf_header
from tests.assay.analysis.perfmodel.structures import CONFIGS, companion, config, expected
from tests.runners.artifacts import real

DEEPSEEK_V3 = "deepseek-ai__DeepSeek-V3"
LATENT_SIDE = 28  # 576 outputs are 4.5 tiles of 128 and take 5: half a tile more for each of 56


def read(name: str) -> tuple[int, Declared]:
    structure = read_structure(config(name))
    declared = declared_formats(
        structure, config(name), companion=companion(name), weight_dtype=None, kv_dtype=None
    )
    return weight_bytes(structure, declared.weights), declared


def parameters(name: str) -> int:
    return int(expected()[name]["parameters"]["total"])


def tiles(quantized: int, *, more: int = 0) -> int:
    """One byte an element, four for each tile of 128 x 128."""
    return quantized + 4 * (quantized // 16384 + more)


def nvfp4(quantized: int, *, tensors: int) -> int:
    """4.5 bits an element, two float32 a tensor."""
    return quantized * 9 // 16 + 8 * tensors


def experts(layers: int, count: int, *, width: int, d: int) -> int:
    return layers * count * 3 * width * d


QWEN3_32B = 64 * (2 * 8192 * 5120 + 2 * 1024 * 5120 + 3 * 25600 * 5120)
QWEN3_30B = 48 * (2 * 4096 * 2048 + 2 * 512 * 2048) + experts(48, 128, width=768, d=2048)
QWEN3_235B = 94 * (2 * 8192 * 4096 + 2 * 512 * 4096) + experts(94, 128, width=1536, d=4096)
MINIMAX_M2 = 62 * (2 * 6144 * 3072 + 2 * 1024 * 3072) + experts(62, 256, width=1536, d=3072)
LLAMA_70B = 80 * (2 * 8192 * 8192 + 2 * 1024 * 8192 + 3 * 28672 * 8192)
SCOUT = experts(48, 17, width=8192, d=5120)
QWEN2_VL = 28 * (2 * 1536 * 1536 + 2 * 256 * 1536 + 3 * 8960 * 1536)
# a layer of latent attention: q down and up, k/v down and up, output
V3_ATTENTION = 1536 * 7168 + 24576 * 1536 + 576 * 7168 + 32768 * 512 + 7168 * 16384
V3_DENSE = 3 * 3 * 18432 * 7168
V3_EXPERTS = experts(58, 257, width=2048, d=7168)
V3 = 61 * V3_ATTENTION + V3_DENSE + V3_EXPERTS
V3_INDEX = 61 * (8192 * 1536 + 128 * 7168)
V3_OUTPUTS = 61 * 7168 * 16384  # the one matrix of attention that the companion does not exclude
KIMI_ATTENTION = 1536 * 7168 + 12288 * 1536 + 576 * 7168 + 16384 * 512 + 7168 * 8192
KIMI_FEED_FORWARD = 3 * 18432 * 7168 + experts(60, 385, width=2048, d=7168)
KIMI = 61 * KIMI_ATTENTION + KIMI_FEED_FORWARD
QWEN35_EXPERTS = experts(60, 512, width=1024, d=4096)

# name -> quantized elements, their bytes with scales
WORKED: Mapping[str, tuple[int, int]] = {
    "Qwen__Qwen3-32B-FP8": (QWEN3_32B, tiles(QWEN3_32B)),
    "Qwen__Qwen3-30B-A3B-FP8": (QWEN3_30B, tiles(QWEN3_30B)),
    "Qwen__Qwen3-235B-A22B-FP8": (QWEN3_235B, tiles(QWEN3_235B)),
    "MiniMaxAI__MiniMax-M2": (MINIMAX_M2, tiles(MINIMAX_M2)),
    DEEPSEEK_V3: (V3, tiles(V3, more=61 * LATENT_SIDE)),
    "deepseek-ai__DeepSeek-V3.2": (V3 + V3_INDEX, tiles(V3 + V3_INDEX, more=61 * LATENT_SIDE)),
    "moonshotai__Kimi-K2-Instruct": (KIMI, tiles(KIMI, more=61 * LATENT_SIDE)),
    # seven matrices a layer, two float32 each
    "nvidia__Llama-3.1-70B-Instruct-FP8": (LLAMA_70B, LLAMA_70B + 80 * 7 * 8),
    # experts and the shared one: bfloat16 for each of 8192 + 8192 + 5120 outputs; attention excluded
    "RedHatAI__Llama-4-Scout-17B-16E-Instruct-FP8-dynamic": (
        SCOUT,
        SCOUT + 48 * 17 * (2 * 8192 + 5120) * 2,
    ),
    "nvidia__Qwen3-235B-A22B-NVFP4": (
        QWEN3_235B,
        nvfp4(QWEN3_235B, tensors=94 * (4 + 3 * 128)),
    ),
    "nvidia__DeepSeek-V3.1-NVFP4": (
        V3_OUTPUTS + V3_DENSE + V3_EXPERTS,
        nvfp4(V3_OUTPUTS + V3_DENSE + V3_EXPERTS, tensors=61 + 3 * 3 + 58 * 257 * 3),
    ),
    "nvidia__Kimi-K2.5-NVFP4": (
        KIMI_FEED_FORWARD,
        nvfp4(KIMI_FEED_FORWARD, tensors=3 + 60 * 385 * 3),
    ),
    # attention, linear attention and the shared expert are excluded by globs
    "nvidia__Qwen3.5-397B-A17B-NVFP4": (
        QWEN35_EXPERTS,
        nvfp4(QWEN35_EXPERTS, tensors=60 * 512 * 3),
    ),
    # half a byte, and a float16 with 4 bits for 128 elements
    "Qwen__Qwen2-VL-2B-Instruct-AWQ": (QWEN2_VL, QWEN2_VL // 2 + QWEN2_VL // 128 * 5 // 2),
}


@pytest.mark.parametrize("name", WORKED)
def test_bytes_equal_the_closed_form(name: str) -> None:
    quantized, size = WORKED[name]

    assert read(name)[0] == size + 2 * (parameters(name) - quantized)


@pytest.mark.parametrize(
    "name", ["TheBloke__Llama-2-13B-chat-GPTQ", "openai__gpt-oss-20b", "openai__gpt-oss-120b"]
)
def test_bytes_equal_what_was_computed_elsewhere(name: str) -> None:
    assert read(name)[0] == expected()[name]["weight_bytes"]


def test_hybrid_text_model_keeps_its_narrow_gates() -> None:
    # 24 layers of width 1024; 18 of linear attention: 6144 and 2048 inward, 2048 outward; 6 of attention:
    # gated queries 4096, K and V 512 each, 2048 outward; 3 x 3584 in all. in_proj_a and in_proj_b excluded
    name = "openbmb__MiniCPM-V-4_6-AWQ"
    linear = 18 * (6144 + 2048 + 2048) * 1024
    attention = 6 * (4096 + 2 * 512 + 2048) * 1024
    quantized = linear + attention + 24 * 3 * 3584 * 1024
    total = sum(placed.parameters for placed in placed_tensors(read_structure(config(name))))

    wanted = quantized // 2 + quantized // 128 * 5 // 2 + 2 * (total - quantized)
    assert read(name)[0] == wanted


def test_deepseek_v3_and_its_draft_layer_fill_the_published_files() -> None:
    # The creator's repository at afb92e1fa402 holds 688,586,727,753 B of weight files, headers included. They
    # also hold layer 61, a layer as the last with its own table and head, a projection of twice the width,
    # and four norms; it is not part of the text model.
    layer = V3_ATTENTION + experts(1, 257, width=2048, d=7168)
    plain = 2 * 129280 * 7168 + 2 * 7168 * 7168 + 256 * 7168
    draft = tiles(layer, more=LATENT_SIDE) + 2 * plain

    # what is missing are headers: some 92,000 tensors, 130 B each
    assert read(DEEPSEEK_V3)[0] + draft == pytest.approx(688_586_727_753, rel=3e-5)


@pytest.mark.parametrize(
    ("name", "published", "within"),
    [
        # MiniMax's own vLLM guide: "220 GB for weights"
        ("MiniMaxAI__MiniMax-M2", 220e9, 0.05),
        # its card: "reducing the disk size and GPU memory requirements by approximately 50%"
        ("nvidia__Llama-3.1-70B-Instruct-FP8", 0.5 * 2 * 70_553_706_496, 0.05),
        # TheBloke's card: 7.26 GB
        ("TheBloke__Llama-2-13B-chat-GPTQ", 7.26e9, 0.001),
        # OpenAI's card: 12.8 GiB and 60.8 GiB
        ("openai__gpt-oss-20b", 12.8 * 2**30, 0.005),
        ("openai__gpt-oss-120b", 60.8 * 2**30, 0.005),
    ],
)
def test_bytes_are_near_what_publishers_say(name: str, published: float, within: float) -> None:
    assert read(name)[0] == pytest.approx(published, rel=within)


@pytest.mark.parametrize(
    "name",
    [
        "nvidia__Llama-3.1-70B-Instruct-FP8",
        "nvidia__DeepSeek-V3.1-NVFP4",
        "nvidia__Qwen3-235B-A22B-NVFP4",
    ],
)
def test_what_only_the_companion_says_is_lost_without_it(name: str) -> None:
    structure = read_structure(config(name))
    alone = declared_formats(
        structure, config(name), companion=None, weight_dtype=None, kv_dtype=None
    )

    assert weight_bytes(structure, alone.weights) == 2 * parameters(name)
    assert alone.kv_dtype == "bfloat16"
    assert read(name)[1].kv_dtype == "float8_e4m3fn"


@pytest.mark.parametrize(
    ("name", "dtype", "source"),
    [
        ("Qwen__Qwen3-32B-FP8", "bfloat16", "config"),
        ("RedHatAI__Llama-4-Scout-17B-16E-Instruct-FP8-dynamic", "bfloat16", "config"),
        ("nvidia__Kimi-K2.5-NVFP4", "float8_e4m3fn", "kv_cache_scheme"),
        ("nvidia__Qwen3.5-397B-A17B-NVFP4", "float8_e4m3fn", "kv_cache_scheme"),
        ("nvidia__DeepSeek-V3.1-NVFP4", "float8_e4m3fn", "companion"),
        ("openai__gpt-oss-20b", "bfloat16", "assumed"),
    ],
)
def test_k_and_v_have_their_own_type(name: str, dtype: str, source: str) -> None:
    declared = read(name)[1]

    assert (declared.kv_dtype, declared.kv_source) == (dtype, source)


def test_an_fp8_cache_says_nothing_of_recurrent_state() -> None:
    # 15 attention layers: 2 x 2 x 256 elements of 1 B a token. 45 recurrent ones as they were declared, in
    # float32, their convolution columns in bfloat16
    name = "nvidia__Qwen3.5-397B-A17B-NVFP4"
    classes = state_classes(read_structure(config(name)), kv_dtype=read(name)[1].kv_dtype)

    assert sum(each.bytes_per_token for each in classes) == 15 * 1024
    assert sum(each.constant_bytes for each in classes) == 45 * (36_864 * 2 + 1_048_576 * 4)


def test_what_a_list_excludes_shows_in_the_bytes_by_format() -> None:
    name = "nvidia__Qwen3.5-397B-A17B-NVFP4"
    quantized, size = WORKED[name]

    assert weight_bytes_by_format(read_structure(config(name)), read(name)[1].weights) == {
        "nvfp4": size,
        "bfloat16": 2 * (parameters(name) - quantized),
    }


def test_a_real_files_header_gives_its_bytes() -> None:
    # SmolLM2-135M: Q4_1 matrices, a Q8_0 table, float32 norms
    header = gguf_header.read(real.path())
    document: dict[str, Any] = {
        "model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536,
        "vocab_size": 49152, "tie_word_embeddings": True, "max_position_embeddings": 8192,
        "torch_dtype": "bfloat16",
    }  # fmt: skip
    formats = tensor_formats({tensor.name: tensor.dtype for tensor in header.tensors})

    # 30 layers of 3,538,944 elements at 5 bits; 28,311,552 at 8.5; 61 norms of 576 at 4 B
    assert weight_bytes(read_structure(document), formats) == 66_355_200 + 30_081_024 + 140_544


def test_long_lists_of_exclusions_take_little_time() -> None:
    started = time.process_time()
    for path in CONFIGS.glob("*.json"):
        if not path.name.endswith("hf_quant_config.json"):
            read(path.name.removesuffix(".json"))

    assert time.process_time() - started < 5.0
