"""Qwen3-Next and Qwen3.5: gated delta net layers between gated full-attention ones."""

from assay.analysis.perfmodel.feed_forward.feed_forward import norm
from assay.analysis.perfmodel.mixers.attention import Attention, HeadNorm
from assay.analysis.perfmodel.mixers.delta_net import GatedDeltaNet
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.reading import experts
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import gated, head_width, kv_heads
from assay.analysis.perfmodel.reading.llama_like import TWO_NORMS
from assay.analysis.perfmodel.reading.outline import Outline, read_outline
from assay.analysis.perfmodel.reading.windows import layer_kinds
from assay.analysis.perfmodel.structure import Layer, Structure

_FULL, _LINEAR = "full_attention", "linear_attention"
_JOINED = ("in_proj_qkvz", "in_proj_ba")
_APART = ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")


def read_qwen3_next(fields: Fields, family: str) -> Structure:
    return _read(fields, family, inputs=_JOINED)


def read_qwen3_5(fields: Fields, family: str) -> Structure:
    """As Qwen3-Next, with the four input projections of the delta net apart."""
    return _read(fields, family, inputs=_APART)


def _read(fields: Fields, family: str, *, inputs: tuple[str, ...]) -> Structure:
    gated(fields)
    if fields.flag("use_sliding_window"):
        raise fields.refused("use_sliding_window", True, "false: this family has no window")
    outline = read_outline(fields, family)
    mixers: dict[str, Mixer] = {_FULL: _attention(outline), _LINEAR: _delta_net(fields, inputs)}
    norms = tuple(norm(name, outline.d_model) for name in TWO_NORMS)
    sparse = fields.has("num_experts")
    read_parts = experts.sparse_steps if sparse else experts.dense
    if not sparse:
        fields.without_effect(("mlp_only_layers", "decoder_sparse_step"))
    parts = read_parts(fields, outline.layers)
    layers = [
        Layer(mixer=mixers[kind], feed_forward=part, other=norms)
        for kind, part in zip(_kinds(outline), parts, strict=True)
    ]
    return outline.structure(layers)


def _kinds(outline: Outline) -> list[str]:
    """``layer_types``, else every ``full_attention_interval``-th layer is full attention."""
    fields, count = outline.fields, outline.layers
    period = fields.count("full_attention_interval", default=4)
    listed = layer_kinds(fields, count, allowed=(_FULL, _LINEAR))
    return listed or [_LINEAR if (i + 1) % period else _FULL for i in range(count)]


def _attention(outline: Outline) -> Attention:
    """The query projection carries the output gate and is twice as wide."""
    fields = outline.fields
    h = fields.count("num_attention_heads")
    d_head = head_width(fields, d_model=outline.d_model, h=h, remarks=outline.remarks)
    bias = fields.flag("attention_bias")
    return Attention(
        h=h,
        h_kv=kv_heads(fields, h=h, layers=1)[0],
        d_k=d_head,
        d_v=d_head,
        gated_output=fields.flag("attn_output_gate", default=True),
        qkv_bias=bias,
        output_bias=bias,
        head_norm=HeadNorm.PER_HEAD,
    )


def _delta_net(fields: Fields, inputs: tuple[str, ...]) -> GatedDeltaNet:
    return GatedDeltaNet(
        h_k=fields.count("linear_num_key_heads"),
        h_v=fields.count("linear_num_value_heads"),
        d_k=fields.count("linear_key_head_dim"),
        d_v=fields.count("linear_value_head_dim"),
        kernel=fields.count("linear_conv_kernel_dim"),
        inputs=inputs,
    )
