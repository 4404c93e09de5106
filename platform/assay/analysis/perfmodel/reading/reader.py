"""Read a model's configuration into a Structure, or refuse and name the field that was not understood.

Two forms are read: a Hugging Face ``config.json`` and the ``artifact.config`` of a RunSpec. Nothing is filled
in by similarity. Of a model with towers the text part is read; the towers are named as not modelled.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay.analysis.perfmodel.reading.artifact import read_artifact_config
from assay.analysis.perfmodel.reading.fields import Fields, says_nothing
from assay.analysis.perfmodel.reading.registry import FAMILIES
from assay.analysis.perfmodel.structure import Structure

TOWERS = ("vision_config", "audio_config", "speech_config", "video_config")
# Wrappers around a text part in an object of its own.
_WRAPPERS = frozenset(
    {
        "gemma3", "gemma3n", "gemma4", "kimi_k25", "llama4", "minicpmv4_6", "mistral3", "qwen3_5",
        "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe",
    }
)  # fmt: skip
# Wrappers whose text fields lie beside the towers, and the family of their text part.
_FLAT: dict[str, str] = {"qwen2_vl": "qwen2", "qwen2_5_vl": "qwen2"}
# Fields of wrappers about the way from tower to text.
_OF_WRAPPERS = (
    "drop_vision_last_layer", "image_size", "insert_layer_id", "merge_kernel_size", "merger_times",
    "patch_size", "use_unified_vision_chunk", "vision_feature_layer", "vision_feature_select_strategy",
    "multimodal_projector_bias", "spatial_merge_size", "projector_hidden_act",
)  # fmt: skip


def read_structure(config: Mapping[str, Any]) -> Structure:
    """The structure that a configuration declares.

    Raises ModelRefused, naming the field, for anything outside ``registry.FAMILIES`` or not understood there.
    """
    if "L" in config and "d_model" in config:
        return read_artifact_config(config)
    artifact = config.get("artifact")
    if isinstance(artifact, Mapping) and isinstance(artifact.get("config"), Mapping):
        return read_artifact_config(artifact["config"])
    if config.get("text_config") is not None:
        return _read_wrapped(Fields(config))
    fields = Fields(config)
    declared = fields.text("model_type")
    if declared in _FLAT:
        fields.without_effect(_OF_WRAPPERS)
        towers = _towers(fields)
        structure = FAMILIES[_FLAT[declared]].read(fields, _FLAT[declared])
        return replace(structure, not_modelled=(*towers, *structure.not_modelled))
    family = _family(fields)
    return FAMILIES[family].read(fields, family)


def _read_wrapped(outer: Fields) -> Structure:
    """The text part of a wrapper; what the outer object says of it holds where the inner one is silent."""
    wrapper = outer.text("model_type")
    if wrapper not in _WRAPPERS:
        raise outer.refused("model_type", wrapper, ", ".join(sorted(_WRAPPERS)))
    text = outer.section("text_config")
    assert text is not None
    inherited = {
        name: outer.value(name)
        for name in ("tie_word_embeddings", "torch_dtype", "dtype")
        if outer.has(name)
    }
    for name, value in inherited.items():
        if text.has(name) and text.value(name) != value:
            raise text.refused(name, text.value(name), f"{value}, as the outer object says")
    merged = text.with_defaults(inherited)
    family = _family(merged)
    outer.without_effect(_OF_WRAPPERS)
    towers = _towers(outer)
    structure = FAMILIES[family].read(merged, family)
    return replace(
        structure,
        not_modelled=(*towers, *structure.not_modelled, *outer.left_over()),
    )


def _towers(fields: Fields) -> list[str]:
    """A line for every tower; its fields are not read."""
    return [
        f"{name}: this tower is not modelled, the text part alone is"
        for name in TOWERS
        if not says_nothing(fields.value(name))
    ]


def _family(fields: Fields) -> str:
    """Family by ``model_type``; ``architectures`` must name a class of it when it is there."""
    declared, architectures = fields.text("model_type"), fields.words("architectures") or []
    by_class = [
        name for name, family in FAMILIES.items() if set(family.classes) & set(architectures)
    ]
    if declared is None and len(by_class) == 1:
        return by_class[0]
    if declared not in FAMILIES:
        mechanisms = fields.structural()[:4]
        seen = f"{declared}" + (f" with {', '.join(mechanisms)}" if mechanisms else "")
        raise fields.refused("model_type", seen, ", ".join(sorted(FAMILIES)))
    if architectures and declared not in by_class:
        raise fields.refused("architectures", architectures, f"a causal decoder of {declared}")
    return declared
