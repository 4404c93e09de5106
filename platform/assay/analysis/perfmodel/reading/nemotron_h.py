"""Nemotron-H and Nemotron 3: one part a block by a pattern of letters.

``M`` is Mamba-2, ``*`` attention, ``-`` a feed-forward, ``E`` experts. Every block has one norm;
feed-forwards are not gated (two matrices).
"""

from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    Experts,
    norm,
)
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.mamba2 import Mamba2
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import head_width, kv_heads
from assay.analysis.perfmodel.reading.outline import Outline, read_outline
from assay.analysis.perfmodel.structure import Layer, Structure

_LETTERS = "M*-E"
_MODULE = "mixer"


def read_nemotron_h(fields: Fields, family: str) -> Structure:
    fields.one_of("mlp_hidden_act", ("relu2",))
    fields.without_effect(("expand", "mamba_hidden_act", "mamba_num_groups"))
    if fields.value("sliding_window") is not None:
        raise fields.refused("sliding_window", fields.value("sliding_window"), "null")
    outline = read_outline(fields, family)
    pattern = _pattern(outline)
    blocks = {letter: _block(outline, letter) for letter in sorted(set(pattern))}
    fields.without_effect(("intermediate_size", "moe_intermediate_size"))
    return outline.structure(
        [blocks[letter] for letter in pattern],
        outer=(norm("backbone.norm_f", outline.d_model),),
    )


def _pattern(outline: Outline) -> str:
    fields = outline.fields
    pattern = str(fields.value("hybrid_override_pattern"))
    if len(pattern) != outline.layers or set(pattern) - set(_LETTERS):
        raise fields.refused(
            "hybrid_override_pattern", pattern, f"{outline.layers} letters out of {_LETTERS}"
        )
    return pattern


def _block(outline: Outline, letter: str) -> Layer:
    fields, other = outline.fields, (norm("norm", outline.d_model),)
    bias = fields.flag("mlp_bias")
    if letter == "M":
        return Layer(mixer=_mamba(fields), feed_forward=None, other=other)
    if letter == "*":
        return Layer(mixer=_attention(outline), feed_forward=None, other=other)
    if letter == "E":
        return Layer(mixer=None, feed_forward=_experts(fields, bias=bias), other=other)
    plain = DenseFeedForward(
        width=fields.count("intermediate_size"), gated=False, bias=bias, module=_MODULE
    )
    return Layer(mixer=None, feed_forward=plain, other=other)


def _mamba(fields: Fields) -> Mamba2:
    return Mamba2(
        heads=fields.count("mamba_num_heads"),
        d_head=fields.count("mamba_head_dim"),
        d_state=fields.count("ssm_state_size"),
        groups=fields.count("n_groups"),
        kernel=fields.count("conv_kernel"),
        convolution_bias=fields.flag("use_conv_bias", default=True),
        projection_bias=fields.flag("mamba_proj_bias") or fields.flag("use_bias"),
        module=_MODULE,
        block=fields.optional_count("chunk_size") or 256,
    )


def _attention(outline: Outline) -> Attention:
    fields = outline.fields
    h, declared = fields.count("num_attention_heads"), fields.optional_count("attention_head_dim")
    d_head = declared or head_width(fields, d_model=outline.d_model, h=h, remarks=outline.remarks)
    bias = fields.flag("attention_bias")
    return Attention(
        h=h,
        h_kv=kv_heads(fields, h=h, layers=1)[0],
        d_k=d_head,
        d_v=d_head,
        qkv_bias=bias,
        output_bias=bias,
        module=_MODULE,
    )


def _experts(fields: Fields, *, bias: bool) -> Experts:
    shared = fields.amount("n_shared_experts")
    return Experts(
        experts=fields.count("n_routed_experts"),
        chosen=fields.count("num_experts_per_tok"),
        width=fields.count("moe_intermediate_size"),
        gated=False,
        bias=bias,
        shared_width=shared * fields.count("moe_shared_expert_intermediate_size"),
        router_bias=True,
        module=_MODULE,
    )
