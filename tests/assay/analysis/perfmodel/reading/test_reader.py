"""Configurations are read or refused; nothing is guessed."""

from typing import Any

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.reading.reader import read_structure
from assay.analysis.perfmodel.structure import Structure
from tests.assay.analysis.perfmodel.structures import SMOLLM2, config


def llama(**changes: Any) -> dict[str, Any]:
    return {**config("meta-llama__Llama-3.1-8B"), **changes}


def mixers(structure: Structure) -> set[Any]:
    return {layer.mixer for layer in structure.layers}


def field_refused(document: dict[str, Any]) -> str:
    with pytest.raises(ModelRefused) as caught:
        read_structure(document)
    assert caught.value.exit_code == 2
    return caught.value.finding.field


@pytest.mark.req("10.15")
@pytest.mark.forbids
@pytest.mark.parametrize("kind", ["a_new_family", "rwkv", None])
def test_an_unknown_family_is_refused_and_what_it_announces_is_named(kind: str | None) -> None:
    document = {**config("deepseek-ai__DeepSeek-V3"), "model_type": kind, "architectures": []}

    with pytest.raises(ModelRefused) as caught:
        read_structure(document)

    assert caught.value.finding.field == "model_type"
    assert "kv_lora_rank" in caught.value.finding.seen
    assert "n_routed_experts" in caught.value.finding.seen


def test_a_class_name_alone_declares_the_family() -> None:
    document = config("openbmb__MiniCPM3-4B")

    assert "model_type" not in document
    assert read_structure(document).family == "minicpm3"


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kv_lora_rank": 512}, "kv_lora_rank"),
        ({"num_local_experts": 8}, "num_local_experts"),
        ({"sliding_window": 4096}, "sliding_window"),
        ({"layer_types": ["full_attention", "linear_attention"]}, "layer_types"),
        ({"vision_config": {"hidden_size": 8}}, "vision_config"),
        ({"num_kv_shared_layers": 4}, "num_kv_shared_layers"),
        ({"some_new_rank": 64}, "some_new_rank"),
        ({"num_key_value_heads": None}, "num_key_value_heads"),
        ({"num_key_value_heads": [8, 4]}, "num_key_value_heads"),
        ({"intermediate_size": [14336]}, "intermediate_size"),
        ({"num_key_value_heads": 5}, "num_key_value_heads"),
        ({"num_attention_heads": True}, "num_attention_heads"),
        ({"hidden_act": "relu2"}, "hidden_act"),
        ({"architectures": ["LlamaForSequenceClassification"]}, "architectures"),
        ({"hidden_size": 4097}, "head_dim"),
    ],
)
def test_a_field_that_changes_the_structure_is_refused_and_named(
    changes: dict[str, Any], field: str
) -> None:
    assert field_refused(llama(**changes)) == field


def test_a_missing_number_of_kv_heads_is_not_taken_for_mha() -> None:
    document = llama()
    del document["num_key_value_heads"]

    assert field_refused(document) == "num_key_value_heads"


def test_a_window_that_is_switched_off_is_ignored() -> None:
    structure = read_structure(config("Qwen__Qwen2.5-7B-Instruct"))

    (attention,) = mixers(structure)
    assert attention.kind == "gqa"
    assert attention.qkv_bias  # the class adds it, no field says so


def test_a_false_flag_of_another_structure_is_ignored() -> None:
    assert len(read_structure(llama(num_kv_shared_layers=0, use_moe=False)).layers) == 32


def test_an_unknown_field_without_a_structural_name_is_flagged() -> None:
    structure = read_structure(llama(torch_compile_hint="max"))

    assert any("torch_compile_hint" in line for line in structure.not_modelled)


def test_head_dim_need_not_be_hidden_over_heads() -> None:
    # 5120 / 32 = 160, the file says 128
    (attention,) = mixers(read_structure(config("mistralai__Mistral-Nemo-Instruct-2407")))
    assert (attention.d_k, attention.d_v) == (128, 128)


def test_an_absent_tie_takes_the_class_default_and_says_so() -> None:
    document = llama()
    del document["tie_word_embeddings"]

    structure = read_structure(document)

    assert structure.tied is False
    assert any("tie_word_embeddings absent" in line for line in structure.assumptions)


@pytest.mark.req("11.06")
def test_the_config_of_a_run_spec_gives_the_same_structure() -> None:
    document = {
        "architecture": "llama", "L": 30, "d_model": 576, "h": 9, "h_kv": 3, "d_head": 64,
        "d_ff": 1536, "V": 49152, "max_length": 8192, "tie_word_embeddings": True,
        "attention_bias": False, "gated_mlp": True, "moe": None, "recurrent_state": None,
    }  # fmt: skip

    assert read_structure(document) == SMOLLM2
    assert read_structure({"artifact": {"config": document}}) == SMOLLM2


@pytest.mark.forbids
@pytest.mark.parametrize("field", ["moe", "recurrent_state", "architecture", "h_kv"])
def test_a_run_spec_with_another_structure_is_refused(field: str) -> None:
    document: dict[str, Any] = {
        "architecture": "llama", "L": 2, "d_model": 8, "h": 2, "h_kv": 1, "d_head": 4, "d_ff": 16,
        "V": 10, "max_length": 64, "tie_word_embeddings": True,
    }  # fmt: skip
    document[field] = {"moe": {"experts": 8}, "recurrent_state": "mamba"}.get(field)

    assert field_refused(document) == f"artifact.config.{field}"


@pytest.mark.forbids
@pytest.mark.parametrize("field", ["tie_word_embeddings", "attention_bias", "mlp_bias"])
@pytest.mark.parametrize("value", ["false", -1, [], 2**70])
def test_a_switch_is_true_or_false_and_never_a_word(field: str, value: object) -> None:
    assert field_refused(llama(**{field: value})) == field


@pytest.mark.forbids
@pytest.mark.parametrize("field", ["architectures", "layer_types"])
def test_a_list_that_is_none_is_refused(field: str) -> None:
    assert field_refused(llama(**{field: 5})) == field
