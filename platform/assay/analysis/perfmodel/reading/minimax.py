"""MiniMax-01 and M1: lightning attention with softmax attention between, experts in every layer."""

from assay.analysis.perfmodel.feed_forward.feed_forward import norm
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.lightning import LightningAttention
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.reading import experts
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import gated, head_width, kv_heads
from assay.analysis.perfmodel.reading.llama_like import TWO_NORMS
from assay.analysis.perfmodel.reading.outline import read_outline
from assay.analysis.perfmodel.reading.windows import layer_kinds
from assay.analysis.perfmodel.structure import Layer, Structure

_LIGHTNING, _SOFTMAX = 0, 1
# Factors on residual streams: they scale, and change no size.
_SCALES = tuple(
    f"{part}_{factor}"
    for part in ("layernorm_full_attention", "layernorm_linear_attention", "layernorm_mlp",
                 "full_attn", "linear_attn", "mlp")
    for factor in ("alpha", "beta", "alpha_factor", "beta_factor")
)  # fmt: skip


def read_minimax(fields: Fields, family: str) -> Structure:
    gated(fields)
    fields.without_effect((*_SCALES, "postnorm", "block_size"))
    outline = read_outline(fields, family)
    h = fields.count("num_attention_heads")
    d_head = head_width(fields, d_model=outline.d_model, h=h, remarks=outline.remarks)
    mixers: dict[int, Mixer] = {
        _LIGHTNING: LightningAttention(h=h, d_head=d_head),
        _SOFTMAX: Attention(h=h, h_kv=kv_heads(fields, h=h, layers=1)[0], d_k=d_head, d_v=d_head),
    }
    norms = tuple(norm(name, outline.d_model) for name in TWO_NORMS)
    parts = experts.local_experts(fields, outline.layers)
    layers = [
        Layer(mixer=mixers[kind], feed_forward=part, other=norms)
        for kind, part in zip(_kinds(fields, outline.layers), parts, strict=True)
    ]
    return outline.structure(layers)


def _kinds(fields: Fields, layers: int) -> list[int]:
    """``attn_type_list`` (0 lightning, 1 softmax) or ``layer_types``; one of them must be there."""
    listed = fields.whole_numbers("attn_type_list")
    named = layer_kinds(fields, layers, allowed=("full_attention", "linear_attention"))
    if listed is None and named is not None:
        return [_SOFTMAX if kind == "full_attention" else _LIGHTNING for kind in named]
    if listed is None or len(listed) != layers or set(listed) - {_LIGHTNING, _SOFTMAX}:
        raise fields.refused("attn_type_list", listed, f"{layers} entries of 0 or 1")
    return [int(kind) for kind in listed]
