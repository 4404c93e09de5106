"""What configurations say in a way that readers fall for."""

from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.mixer import StoredAs
from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.state import (
    kv_bytes_per_token,
    kv_elements_per_token,
    state_bytes,
    state_classes,
)
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import count_parameters, placed_tensors
from tests.assay.analysis.perfmodel.reading.small_models import BLOCKS, SMALL
from tests.assay.analysis.perfmodel.structures import config

V3, V2_LITE = "deepseek-ai__DeepSeek-V3", "deepseek-ai__DeepSeek-V2-Lite"
GEMMA_E2B = "google__gemma-4-E2B-it"


def changed(name: str, **fields: Any) -> Structure:
    return read_structure({**config(name), **fields})


def without(name: str, *fields: str) -> Structure:
    return read_structure({k: v for k, v in config(name).items() if k not in fields})


def attention(structure: Structure) -> list[Attention]:
    return [each.mixer for each in structure.layers if isinstance(each.mixer, Attention)]


def sliding(structure: Structure) -> list[int]:
    mixers = attention(structure)
    return [i for i, mixer in enumerate(mixers) if mixer.span is not Span.FULL]


@pytest.mark.req("10.15")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (V3, "mla"),
        ("zai-org__GLM-5", "mla_sparse"),
        ("google__gemma-2-9b-it", "gqa_sliding"),
        ("meta-llama__Llama-4-Scout-17B-16E-Instruct", "gqa_chunked"),
        ("Qwen__Qwen3-Next-80B-A3B-Instruct", "gated_delta_net"),
        ("nvidia__Nemotron-H-56B-Base-8K", "mamba2"),
        ("MiniMaxAI__MiniMax-M1", "lightning_attention"),
    ],
)
def test_the_conventional_formula_is_refused_by_the_name_of_the_structure(
    name: str, kind: str
) -> None:
    with pytest.raises(ModelRefused) as caught:
        kv_bytes_per_token(read_structure(config(name)), kv_dtype="bfloat16")

    assert caught.value.finding.seen == kind


@pytest.mark.req("10.15")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("family", "seen"),
    [
        ("mimo_v2_flash", "k_and_v_of_unlike_width"),
        ("lfm2", "short_convolution"),
        ("falcon_h1", "mamba2"),
    ],
)
def test_the_conventional_formula_is_refused_for_small_families_too(family: str, seen: str) -> None:
    with pytest.raises(ModelRefused, match=seen):
        kv_bytes_per_token(read_structure(SMALL[family]), kv_dtype="bfloat16")


@pytest.mark.req("10.15")
def test_kv_heads_mean_nothing_for_latent_attention() -> None:
    # 61 layers x (512 + 64) elements, with 128 KV heads in the file or with one
    assert kv_elements_per_token(changed(V3, num_key_value_heads=1)) == 61 * 576
    assert kv_elements_per_token(read_structure(config(V3))) == 61 * 576


def test_a_null_query_rank_is_one_plain_projection() -> None:
    modules = {p.tensor.module: p.tensor for p in placed_tensors(read_structure(config(V2_LITE)))}

    assert modules["self_attn.q_proj"].rows == 16 * (128 + 64)
    assert "self_attn.q_a_proj" not in modules


def test_kv_heads_and_widths_of_every_layer_are_its_own() -> None:
    structure = read_structure(BLOCKS)
    one, other, none = structure.layers

    # 8 query heads in groups of 4 and 8; 2 x 2.625 x 256 / 3 = 448, up to 512; 2 x 4 x 256 / 3, up to 768
    assert [mixer.h_kv for mixer in attention(structure)] == [2, 1]
    assert none.mixer is None
    parts = [layer.feed_forward for layer in (one, other, none) if layer.feed_forward]
    assert [part.tensors(256)[0].rows for part in parts] == [512, 768, 512]
    # K and V of 32 elements: 2 heads in one layer and 1 in another, none in the third
    assert kv_elements_per_token(structure) == 2 * 32 * 2 + 2 * 32 * 1


def test_lists_of_kv_heads_and_widths_are_read_layer_by_layer() -> None:
    structure = changed(
        "meta-llama__Llama-3.1-8B",
        num_key_value_heads=[8] * 31 + [4],
        intermediate_size=[14336] * 31 + [7168],
    )

    assert kv_elements_per_token(structure) == 2 * 128 * (31 * 8 + 4)
    # the last layer has 4 x 128 fewer rows in k and in v, and half the feed-forward
    less = 2 * 4 * 128 * 4096 + 3 * 7168 * 4096
    assert count_parameters(structure).total == 8_030_261_248 - less


def test_keys_and_values_may_be_unlike_in_width_and_count() -> None:
    structure = read_structure(SMALL["mimo_v2_flash"])

    # layers 0 and 5 are global with 1 KV head, the other four slide with 2; keys 24 wide, values 16
    assert kv_elements_per_token(structure) == (2 * 1 + 4 * 2) * (24 + 16)
    # after 20 tokens the sliding layers hold 9 of them
    size = state_bytes(structure, tokens=20, kv_dtype="bfloat16")
    assert size == 2 * 40 * (2 * 1 * 20 + 4 * 2 * 9)


@pytest.mark.parametrize(
    ("fields", "slides"),
    [
        ({}, 0),  # use_sliding_window false in the file
        ({"use_sliding_window": None}, 0),  # absent: off by class default
        ({"use_sliding_window": True, "max_window_layers": 20}, 8),
        ({"use_sliding_window": True, "max_window_layers": 28}, 0),
        ({"use_sliding_window": True, "sliding_window": None}, 0),
    ],
)
def test_a_declared_window_counts_only_where_it_is_switched_on(
    fields: dict[str, Any], slides: int
) -> None:
    structure = changed("Qwen__Qwen2.5-7B-Instruct", **fields)

    assert sliding(structure) == list(range(28 - slides, 28))


def test_alternation_that_no_field_states_is_that_of_the_class() -> None:
    gemma2 = read_structure(config("google__gemma-2-9b-it"))
    gpt_oss = without("openai__gpt-oss-20b", "layer_types")
    llama4 = read_structure(config("meta-llama__Llama-4-Scout-17B-16E-Instruct"))
    qwen = read_structure(config("Qwen__Qwen3-Next-80B-A3B-Instruct"))

    assert sliding(gemma2) == list(range(0, 42, 2))
    assert gpt_oss == read_structure(config("openai__gpt-oss-20b"))
    assert sliding(llama4) == [i for i in range(48) if (i + 1) % 4]
    full = [i for i, layer in enumerate(qwen.layers) if isinstance(layer.mixer, Attention)]
    assert full == list(range(3, 48, 4))


@pytest.mark.req("10.19", "10.15")
def test_shared_state_is_counted_once_and_only_where_sharing_is_on() -> None:
    structure = read_structure(config(GEMMA_E2B))
    whole, local = attention(structure)[34], attention(structure)[33]
    text = {**config(GEMMA_E2B)["text_config"], "num_kv_shared_layers": 0}
    unshared = read_structure({**config(GEMMA_E2B), "text_config": text})

    # 15 layers of their own; the last local one of them is 13, the last global one 14
    assert (local.shares_layer, whole.shares_layer) == (13, 14)
    assert kv_elements_per_token(structure) == 12 * 2 * 256 + 3 * 2 * 512
    assert kv_elements_per_token(unshared) == 28 * 2 * 256 + 7 * 2 * 512
    # layers without K and V of their own still compute on them
    linear = next(c for c in state_classes(structure, kv_dtype="bf16") if c.growth == "linear")
    assert (linear.layers, linear.reading_layers) == (3, 7)
    assert all(mixer.shares_layer is None for mixer in attention(unshared))


def test_global_heads_may_be_unlike_local_ones_and_keys_serve_as_values() -> None:
    structure = read_structure(config("google__gemma-4-26B-A4B"))
    local, whole = attention(structure)[0], attention(structure)[5]

    assert (local.h_kv, local.d_k, whole.h_kv, whole.d_k) == (8, 256, 2, 512)
    names = [tensor.module for tensor in whole.tensors(2816)]
    assert "self_attn.v_proj" not in names
    assert any("K and V are stored apart" in line for line in structure.assumptions)


@pytest.mark.parametrize(
    ("name", "tied"),
    [
        ("google__gemma-2-9b-it", True),
        ("google__gemma-3-27b-it", True),
        ("openai-community__gpt2", True),
        ("tiiuae__falcon-40b", True),
        ("openbmb__MiniCPM3-4B", True),
        ("meta-llama__Llama-4-Scout-17B-16E-Instruct", False),
    ],
)
def test_an_absent_tie_takes_the_default_of_the_class_and_says_so(name: str, tied: bool) -> None:
    structure = read_structure(config(name))

    assert structure.tied is tied
    assert any("tie_word_embeddings absent" in line for line in structure.assumptions)


@pytest.mark.req("10.22")
@pytest.mark.parametrize(
    ("name", "field"),
    [
        (V3, "num_nextn_predict_layers"),
        ("zai-org__GLM-4.5", "num_nextn_predict_layers"),
        ("MiniMaxAI__MiniMax-M2", "num_mtp_modules"),
        ("Qwen__Qwen3.5-27B", "mtp_num_hidden_layers"),
    ],
)
def test_draft_layers_are_named_and_not_counted(name: str, field: str) -> None:
    structure = read_structure(config(name))

    assert any(line.startswith(field) for line in structure.not_modelled)
    assert (
        len(structure.layers)
        == (config(name).get("text_config") or config(name))["num_hidden_layers"]
    )


@pytest.mark.parametrize(
    ("name", "towers"),
    [
        ("google__gemma-4-E2B-it", ["vision_config", "audio_config"]),
        ("google__gemma-4-26B-A4B", ["vision_config"]),
        ("Qwen__Qwen2-VL-2B-Instruct-AWQ", ["vision_config"]),
        ("nvidia__Kimi-K2.5-NVFP4", ["vision_config"]),
    ],
)
def test_towers_are_named_as_not_modelled(name: str, towers: list[str]) -> None:
    lines = read_structure(config(name)).not_modelled

    assert [line.split(":")[0] for line in lines if "tower" in line] == towers


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kv_lora_rank": 512}, "text_config.kv_lora_rank"),
        ({"num_key_value_heads": 3}, "text_config.num_key_value_heads"),
        ({"layer_types": ["full_attention"]}, "text_config.layer_types"),
        ({"sliding_window": None}, "text_config.sliding_window"),
    ],
)
def test_a_nested_field_is_refused_by_its_path(fields: dict[str, Any], field: str) -> None:
    document = config("google__gemma-3-27b-it")
    document["text_config"] = {**document["text_config"], **fields}

    with pytest.raises(ModelRefused) as caught:
        read_structure(document)

    assert caught.value.finding.field == field


@pytest.mark.forbids
def test_objects_that_contradict_one_another_are_refused() -> None:
    document = config("google__gemma-4-26B-A4B")
    document["text_config"] = {**document["text_config"], "tie_word_embeddings": False}

    with pytest.raises(ModelRefused, match="as the outer object says"):
        read_structure(document)
    with pytest.raises(ModelRefused, match="as another name of it says"):
        changed("tiiuae__falcon-40b", n_layer=61)


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("name", "fields", "field"),
    [
        ("mistralai__Mixtral-8x7B-v0.1", {"num_experts_per_tok": 9}, "num_experts_per_tok"),
        ("meta-llama__Llama-3.1-8B", {"num_hidden_layers": 10**9}, "num_hidden_layers"),
        (
            "nvidia__Nemotron-H-56B-Base-8K",
            {"hybrid_override_pattern": "MX"},
            "hybrid_override_pattern",
        ),
        ("MiniMaxAI__MiniMax-M2", {"attn_type_list": [0] * 62}, "attn_type_list"),
    ],
)
def test_sizes_that_cannot_be_are_refused(name: str, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ModelRefused) as caught:
        changed(name, **fields)

    assert caught.value.finding.field == field


@pytest.mark.req("10.18")
def test_a_sparse_index_has_its_own_keys_and_shrinks_reads_but_no_state() -> None:
    structure = read_structure(config("deepseek-ai__DeepSeek-V3.2"))
    index, latent = state_classes(structure, kv_dtype="bfloat16")

    # 61 layers x (128 keys of one byte and a 4-byte scale), listed apart
    assert (index.part.stored_as, index.in_total) == (StoredAs.INDEX, False)
    assert index.bytes_per_token == 61 * (128 + 4)
    assert latent.resident_bytes(32768) == 61 * 576 * 2 * 32768
    # of 32,768 stored tokens 2,048 are attended to, the new one among them; the index reads them all
    assert latent.read_bytes(32768) == 61 * 576 * 2 * 2047
    assert index.read_bytes(32768) == index.resident_bytes(32768)


def test_multi_query_names_and_switches_give_one_kv_head() -> None:
    falcon = attention(read_structure(config("tiiuae__falcon-7b-instruct")))[0]
    coder = attention(read_structure(config("WizardLMTeam__WizardCoder-15B-V1.0")))[0]
    many = attention(changed("WizardLMTeam__WizardCoder-15B-V1.0", multi_query=False))[0]
    glm = attention(read_structure(config("THUDM__glm-4-9b-chat")))[0]

    assert [falcon.h_kv, coder.h_kv, many.h_kv, glm.h_kv] == [1, 1, 48, 2]


def test_an_encoder_is_named_and_the_decoder_is_read() -> None:
    document = {
        "model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 8, "d_kv": 4,
        "d_ff": 16, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 2, "vocab_size": 10,
        "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "is_encoder_decoder": True,
    }  # fmt: skip

    structure = read_structure(document)

    # a layer: q, k, v, o 4 x 64, cross q and o 2 x 64, three matrices of 128, three norms of 8: 792
    # 2 layers, two tables of 80, positions 32 x 2, final norm 8
    assert count_parameters(structure).total == 2 * 792 + 160 + 64 + 8
    assert kv_elements_per_token(structure) == 2 * 2 * 2 * 4
    assert [line.split(":")[0] for line in structure.not_modelled] == [
        "encoder",
        "cross-attention K and V",
    ]
