"""Llama-like mixtures of experts with something of their own: GLM-4.5, MiniMax-M2, Phi-MoE, Llama 4."""

from dataclasses import replace

from assay.analysis.perfmodel.mixers.attention import HeadNorm
from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.reading import experts, windows
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.llama_like import Facts, read_with
from assay.analysis.perfmodel.reading.windows import EVERYTHING, Reach
from assay.analysis.perfmodel.structure import Structure

_NOPE_PERIOD = 4  # Llama 4: every fourth layer has no rotary positions and attends to all tokens


def read_glm4_moe(fields: Fields, family: str) -> Structure:
    """``attention_bias`` holds for q, k and v only; head norms by ``use_qk_norm``."""
    facts = Facts(
        output_bias=False,
        head_norm=HeadNorm.PER_HEAD if fields.flag("use_qk_norm") else HeadNorm.NONE,
        feed_forward=experts.dense_first,
    )
    return read_with(fields, family, facts)


def read_minimax_m2(fields: Fields, family: str) -> Structure:
    """All layers are softmax attention here; ``attn_type_list`` may not say otherwise."""
    kinds = fields.whole_numbers("attn_type_list")
    if kinds and set(kinds) != {1}:
        raise fields.refused("attn_type_list", kinds, "1 (softmax) in every layer of this family")
    fields.without_effect(
        (
            "layernorm_full_attention_beta",
            "layernorm_linear_attention_beta",
            "layernorm_mlp_beta",
            "mtp_transformer_layers",
        )
    )
    fields.one_of("qk_norm_type", ("per_layer",))
    facts = Facts(
        qkv_bias=False,
        output_bias=False,
        head_norm=HeadNorm.WHOLE if fields.flag("use_qk_norm") else HeadNorm.NONE,
        reach=windows.declared_everywhere,
        feed_forward=experts.local_experts,
    )
    return read_with(fields, family, facts)


def read_phimoe(fields: Fields, family: str) -> Structure:
    """Norms with shifts, a biased head; whether an engine applies the window was not verified."""
    window = fields.optional_count("sliding_window")
    facts = Facts(norm_bias=True, feed_forward=experts.local_experts)
    structure = read_with(fields, family, facts)
    if window is None:
        return structure
    line = f"sliding_window {window}: counted as full attention, no engine was seen to apply it"
    return replace(structure, not_modelled=(*structure.not_modelled, line))


def read_llama4(fields: Fields, family: str) -> Structure:
    """Chunked attention but in layers without rotary positions; head norms have no weights."""
    fields.without_effect(("use_qk_norm", "attn_temperature_tuning", "attn_scale", "floor_scale"))
    facts = Facts(feed_forward=experts.interleaved, reach=_chunks)
    return read_with(fields, family, facts)


def _chunks(fields: Fields, layers: int) -> list[Reach]:
    """``layer_types``, else ``no_rope_layers`` (0: none), else every fourth layer is global."""
    chunk = fields.optional_count("attention_chunk_size")
    period = fields.count("no_rope_layer_interval", default=_NOPE_PERIOD)
    rotary = fields.whole_numbers("no_rope_layers") or [
        int((i + 1) % period != 0) for i in range(layers)
    ]
    if len(rotary) != layers:
        raise fields.refused("no_rope_layers", f"{len(rotary)} entries", f"{layers}, or none")
    kinds = windows.layer_kinds(fields, layers, allowed=("full_attention", "chunked_attention"))
    chunked = (
        [kind == "chunked_attention" for kind in kinds] if kinds else [bool(r) for r in rotary]
    )
    if chunk is None:
        return [EVERYTHING] * layers
    return [Reach(span=Span.CHUNKED, window=chunk) if each else EVERYTHING for each in chunked]
