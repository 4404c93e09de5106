"""LFM2: gated short convolutions with attention between, dense or with experts after the first layers."""

from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    Experts,
    FeedForward,
    norm,
)
from assay.analysis.perfmodel.mixers.attention import Attention, HeadNorm
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.mixers.short_conv import ShortConvolution
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import head_width, kv_heads
from assay.analysis.perfmodel.reading.outline import Names, Outline, read_outline
from assay.analysis.perfmodel.reading.windows import layer_kinds
from assay.analysis.perfmodel.structure import Layer, Structure

_FULL, _CONV = "full_attention", "conv"


def read_lfm2(fields: Fields, family: str) -> Structure:
    outline = read_outline(fields, family, Names(tied_default=True))
    fields.without_effect(("conv_dim", "conv_dim_out", "conv_use_xavier_init", "block_use_swiglu",
                           "block_norm_eps", "block_mlp_init_scale", "block_out_init_scale",
                           "block_use_xavier_init", "block_dim", "num_heads", "use_pos_enc"))  # fmt: skip
    mixers: dict[str, Mixer] = {_FULL: _attention(outline), _CONV: _convolution(outline)}
    norms = (norm("operator_norm", outline.d_model), norm("ffn_norm", outline.d_model))
    layers = [
        Layer(mixer=mixers[kind], feed_forward=part, other=norms)
        for kind, part in zip(_kinds(outline), _parts(outline), strict=True)
    ]
    return outline.structure(layers, outer=(norm("model.embedding_norm", outline.d_model),))


def _kinds(outline: Outline) -> list[str]:
    fields, count = outline.fields, outline.layers
    full = fields.whole_numbers("full_attn_idxs")
    listed = layer_kinds(fields, count, allowed=(_FULL, _CONV))
    if listed is None and full is None:
        raise fields.refused("layer_types", "absent", f"{_FULL} or {_CONV} for each layer")
    return listed or [_FULL if i in (full or ()) else _CONV for i in range(count)]


def _attention(outline: Outline) -> Attention:
    fields = outline.fields
    h = fields.count("num_attention_heads")
    d_head = head_width(fields, d_model=outline.d_model, h=h, remarks=outline.remarks)
    h_kv = kv_heads(fields, h=h, layers=1)[0]
    return Attention(h=h, h_kv=h_kv, d_k=d_head, d_v=d_head, head_norm=HeadNorm.PER_HEAD)


def _convolution(outline: Outline) -> ShortConvolution:
    fields = outline.fields
    return ShortConvolution(
        width=outline.d_model, kernel=fields.count("conv_L_cache"), bias=fields.flag("conv_bias")
    )


def _parts(outline: Outline) -> list[FeedForward]:
    fields, count = outline.fields, outline.layers
    if not fields.has("num_experts"):
        return [DenseFeedForward(width=_width(fields), module="feed_forward")] * count
    experts = Experts(
        experts=fields.count("num_experts"),
        chosen=fields.count("num_experts_per_tok"),
        width=fields.count("moe_intermediate_size"),
        router_bias=fields.flag("use_expert_bias"),
        module="feed_forward",
    )
    plain = DenseFeedForward(width=fields.count("intermediate_size"), module="feed_forward")
    dense = fields.amount("num_dense_layers")
    return [plain if i < dense else experts for i in range(count)]


def _width(fields: Fields) -> int:
    """The declared width, or two thirds of it times a factor, rounded up to a multiple, when adjusted."""
    width = fields.count("block_ff_dim", "intermediate_size")
    multiple = fields.count("block_multiple_of", default=256)
    factor = fields.value("block_ffn_dim_multiplier")
    if not fields.flag("block_auto_adjust_ff_dim", default=True):
        return width
    width = int((1.0 if factor is None else float(factor)) * int(2 * width / 3))
    return multiple * -(-width // multiple)
