"""Latent attention: DeepSeek-V2, V3 and V3.2, Kimi K2, GLM-5, and the dense MiniCPM3.

``num_key_value_heads`` means nothing for the cache here, and ``head_dim``, where it is there, is the rotary
part.
"""

from assay.analysis.perfmodel.feed_forward.feed_forward import norm
from assay.analysis.perfmodel.mixers.latent import LatentAttention, SparseIndex
from assay.analysis.perfmodel.reading import experts
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import gated
from assay.analysis.perfmodel.reading.llama_like import TWO_NORMS
from assay.analysis.perfmodel.reading.outline import Names, Outline, read_outline
from assay.analysis.perfmodel.structure import Layer, Structure


def read_latent(fields: Fields, family: str) -> Structure:
    """Mixture of experts behind dense layers, or dense throughout."""
    return _read(fields, family, Names())


def read_minicpm3(fields: Fields, family: str) -> Structure:
    """Tied by class default; the value head is hidden/heads wide, for which there is no field."""
    return _read(fields, family, Names(tied_default=True))


def _read(fields: Fields, family: str, names: Names) -> Structure:
    gated(fields)
    outline = read_outline(fields, family, names)
    mixer = read_latent_mixer(outline)
    norms = tuple(norm(name, outline.d_model) for name in TWO_NORMS)
    parts = experts.dense_first(fields, outline.layers)
    return outline.structure([Layer(mixer=mixer, feed_forward=part, other=norms) for part in parts])


def read_latent_mixer(outline: Outline) -> LatentAttention:
    """Ranks and head widths of latent attention, with its index if there is one."""
    fields = outline.fields
    h = fields.count("num_attention_heads")
    fields.without_effect(("num_key_value_heads", "head_dim", "qk_head_dim"))
    return LatentAttention(
        h=h,
        q_rank=fields.optional_count("q_lora_rank"),
        kv_rank=fields.count("kv_lora_rank"),
        d_nope=fields.count("qk_nope_head_dim"),
        d_rope=fields.count("qk_rope_head_dim"),
        d_v=_value_width(outline, h),
        bias=fields.flag("attention_bias"),
        index=_index(fields),
    )


def _value_width(outline: Outline, h: int) -> int:
    declared = outline.fields.optional_count("v_head_dim")
    if declared is not None:
        return declared
    outline.remarks.append("v_head_dim absent: hidden_size / num_attention_heads")
    return outline.d_model // h


def _index(fields: Fields) -> SparseIndex | None:
    heads = fields.optional_count("index_n_heads")
    if heads is None:
        return None
    return SparseIndex(
        heads=heads, d_head=fields.count("index_head_dim"), chosen=fields.count("index_topk")
    )
