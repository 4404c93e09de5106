"""MiMo-V2-Flash: keys wider than values, sliding layers with sinks and their own number of KV heads."""

from assay.analysis.perfmodel.feed_forward.feed_forward import norm
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.reading import experts
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import divisor, gated
from assay.analysis.perfmodel.reading.llama_like import TWO_NORMS
from assay.analysis.perfmodel.reading.outline import Outline, read_outline
from assay.analysis.perfmodel.reading.windows import layer_kinds
from assay.analysis.perfmodel.structure import Layer, Structure

_PERIOD = 6  # the first layer and every sixth are global where no list says otherwise


def read_mimo(fields: Fields, family: str) -> Structure:
    """The first layer alone is dense where no list says so."""
    if not fields.has("moe_layer_freq") and not fields.has("mlp_layer_types"):
        fields = fields.with_defaults({"first_k_dense_replace": 1})
    gated(fields)
    fields.without_effect(("attention_value_scale", "attention_projection_layout"))
    outline = read_outline(fields, family)
    whole, sliding = _mixers(outline)
    norms = tuple(norm(name, outline.d_model) for name in TWO_NORMS)
    parts = experts.dense_first(fields, outline.layers)
    layers = [
        Layer(mixer=sliding if slides else whole, feed_forward=part, other=norms)
        for slides, part in zip(_sliding(outline), parts, strict=True)
    ]
    return outline.structure(layers)


def _sliding(outline: Outline) -> list[bool]:
    """``hybrid_layer_pattern`` (1: sliding) or ``layer_types``, else the class's own rule."""
    fields, count = outline.fields, outline.layers
    pattern = fields.whole_numbers("hybrid_layer_pattern")
    kinds = layer_kinds(fields, count, allowed=("full_attention", "sliding_attention"))
    if pattern is not None:
        if len(pattern) != count:
            raise fields.refused("hybrid_layer_pattern", f"{len(pattern)} entries", f"{count}")
        return [bool(each) for each in pattern]
    if kinds is not None:
        return [kind == "sliding_attention" for kind in kinds]
    return [i > 0 and (i + 1) % _PERIOD != 0 for i in range(count)]


def _mixers(outline: Outline) -> tuple[Attention, Attention]:
    """Global and sliding attention; ``sliding_window_size`` counts the tokens before the query."""
    fields = outline.fields
    h, h_kv = fields.count("num_attention_heads"), fields.count("num_key_value_heads")
    local_kv = fields.count("swa_num_key_value_heads", default=2 * h_kv)
    for found in (h_kv, local_kv):
        divisor(fields, "num_key_value_heads", h=h, h_kv=found)
    before = fields.optional_count("sliding_window_size")
    declared = fields.optional_count("sliding_window") if before is None else before + 1
    fields.without_effect(("sliding_window",))
    if declared is None:
        raise fields.refused("sliding_window", "absent", "a number of tokens")
    d_k, d_v = fields.count("head_dim"), fields.count("v_head_dim")
    bias = fields.flag("attention_bias")
    whole = Attention(
        h=h, h_kv=h_kv, d_k=d_k, d_v=d_v, qkv_bias=bias,
        sinks=fields.flag("add_full_attention_sink_bias"),
    )  # fmt: skip
    sliding = Attention(
        h=fields.count("swa_num_attention_heads", default=h),
        h_kv=local_kv,
        d_k=fields.count("swa_head_dim", default=d_k),
        d_v=fields.count("swa_v_head_dim", default=d_v),
        span=Span.SLIDING,
        window=declared,
        qkv_bias=bias,
        sinks=fields.flag("add_swa_attention_sink_bias", default=True),
    )
    return whole, sliding
