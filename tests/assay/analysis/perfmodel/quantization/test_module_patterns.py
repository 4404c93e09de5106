"""Lists of modules: names, globs, expressions, fused matrices, wrappers, and numbers of experts."""

import pytest

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.quantization.module_patterns import ModulePatterns
from assay.analysis.perfmodel.tensors import Tensor


def meant(entry: str, module: str, *, layer: int | None = 0, copies: int = 1) -> int:
    patterns = ModulePatterns(entries=(entry,), where="ignore")
    tensor = Tensor(module=module, rows=1, columns=1, copies=copies)
    return len(patterns.matched(tensor, layer))


def layers_meant(entry: str, module: str, *, of: int = 32) -> list[int]:
    patterns = ModulePatterns(entries=(entry,), where="ignore")
    tensor = Tensor(module=module, rows=1, columns=1)
    return [layer for layer in range(of) if patterns.matched(tensor, layer)]


@pytest.mark.parametrize(
    ("entry", "layers"),
    [
        ("model.layers.3.mlp.down_proj", [3]),
        ("model.layers.3", [3]),
        ("model.layers.3.", [3]),
        ("layers.3.mlp", [3]),
        ("language_model.model.layers.3.mlp.down_proj", [3]),
        ("model.language_model.layers.3.mlp*", [3]),
        ("transformer.h.3.mlp", [3]),
        ("down_proj", list(range(32))),
        ("mlp.down_proj", list(range(32))),
        ("model.layers.*.mlp", list(range(32))),
        ("*.mlp.*", list(range(32))),
        ("model.layers.[01].mlp.down_proj", [0, 1]),
        ("model.layers.3?.mlp*", [30, 31]),
        (r"re:.*layers\.(7|9)\.mlp\.down.*", [7, 9]),
        (r"re:^language_model\.model\.layers\.[12]\.mlp\..*$", [1, 2]),
        (r"model\.layers\.1[0-1]\.mlp", [10, 11]),
        ("re:.*down_proj", list(range(32))),
        ("re:down_proj", []),  # an expression starts where the name starts
        ("down", []),  # part of a part
        ("layers.3.self_attn", []),
        ("vision_model.model.layers.3.mlp.down_proj", []),
        ("mtp.layers.3*", []),
        ("visual", []),
    ],
)
def test_entries_mean_whole_parts_globs_or_expressions(entry: str, layers: list[int]) -> None:
    assert layers_meant(entry, "mlp.down_proj") == layers


@pytest.mark.parametrize(
    ("entry", "module"),
    [
        ("qkv_proj", "self_attn.k_proj"),
        ("model.layers.0.mlp.gate_up_proj", "mlp.up_proj"),
        ("model.layers.*.mlp.experts.gate_up_proj", "mlp.experts.*.gate_proj"),
        ("fused_qkv_a_proj_with_mqa", "self_attn.q_a_proj"),
        ("model.layers.0.mlp.router", "mlp.gate"),
        ("language_model.model.layers.0.feed_forward.router", "mlp.gate"),
        ("block_sparse_moe.gate", "mlp.gate"),
        ("block_sparse_moe.experts.5.w3", "mlp.experts.*.up_proj"),
        ("model.language_model.layers.0.mlp.shared_expert*", "mlp.shared_experts.up_proj"),
        ("model.language_model.layers.0.mlp.shared_expert*", "mlp.shared_expert_gate"),
        ("*.mlp.shared_expert.*", "mlp.shared_experts.down_proj"),
        ("model.layers.0.mlp.experts", "mlp.experts.*.down_proj"),
    ],
)
def test_a_tensor_answers_to_fused_names_and_to_other_families_words(
    entry: str, module: str
) -> None:
    assert meant(entry, module, copies=8) > 0


@pytest.mark.parametrize(
    ("entry", "module"),
    [
        ("gate", "mlp.gate_proj"),
        ("model.layers.0.mlp.gate", "mlp.gate_proj"),
        ("mlp.experts.gate_up_proj", "mlp.experts.*.down_proj"),
        ("*.mlp.shared_expert.*", "mlp.shared_expert_gate"),
        ("model.layers.1*", "mlp.gate"),
    ],
)
def test_a_similar_name_is_another_module(entry: str, module: str) -> None:
    assert meant(entry, module, copies=8) == 0


@pytest.mark.parametrize(
    ("entry", "copies"),
    [
        ("model.layers.0.mlp.experts.3", 1),
        ("model.layers.0.mlp.experts.1?.up_proj", 10),  # 10 to 19
        (r"re:.*experts\.(1|2)\..*", 2),
        (r"re:.*\.\d*[02468]\.up_proj", 64),
        (r"re:.*mlp.experts.*", 128),
        ("mlp.experts", 128),
    ],
)
def test_single_experts_can_be_meant(entry: str, copies: int) -> None:
    assert meant(entry, "mlp.experts.*.up_proj", copies=128) == copies


def test_a_fused_tensor_is_meant_when_all_it_holds_is() -> None:
    fused = Tensor(module="self_attn.qkv_proj", rows=1, columns=1)
    all_three = ModulePatterns(entries=("q_proj", "k_proj", "v_proj"), where="ignore")

    assert len(all_three.matched(fused, 0)) == 1
    assert len(ModulePatterns(entries=("o_proj",), where="ignore").matched(fused, 0)) == 0


@pytest.mark.forbids
def test_a_fused_tensor_that_is_meant_in_part_is_refused() -> None:
    fused = Tensor(module="self_attn.qkv_proj", rows=1, columns=1)
    only_q = ModulePatterns(entries=("q_proj",), where="quantization_config.ignore")

    with pytest.raises(ModelRefused) as caught:
        only_q.matched(fused, 0)

    assert caught.value.finding.field == "quantization_config.ignore"


@pytest.mark.parametrize(
    ("entry", "module"),
    [
        ("lm_head", "lm_head"),
        ("language_model.lm_head", "lm_head"),
        ("re:.*lm_head", "lm_head"),
        ("model.embed_tokens", "model.embed_tokens"),
    ],
)
def test_modules_outside_the_layers_have_their_own_names(entry: str, module: str) -> None:
    assert meant(entry, module, layer=None) == 1
    assert meant("model.layers.0.mlp", module, layer=None) == 0
