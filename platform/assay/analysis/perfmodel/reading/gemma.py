"""Gemma: four norms a layer, tied by class default, sliding layers between global ones.

Gemma 4 adds global heads unlike the local ones, experts beside a dense part, K and V that later layers take
from earlier ones, and an embedding of its own for every layer.
"""

from dataclasses import replace

from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    Experts,
    FeedForward,
    PerLayerInput,
    Together,
    norm,
)
from assay.analysis.perfmodel.mixers.attention import Attention, HeadNorm
from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.reading import windows
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import divisor, gated
from assay.analysis.perfmodel.reading.llama_like import FOUR_NORMS, Facts, read_with
from assay.analysis.perfmodel.reading.outline import Names, Outline, read_outline
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.tensors import Tensor, TensorKind

_EXPERT_NORMS = (
    "post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2",
)  # fmt: skip


def read_gemma2(fields: Fields, family: str) -> Structure:
    """Even layers slide, odd ones are global; no field says so."""
    facts = Facts(
        tied_default=True,
        norms=FOUR_NORMS,
        reach=lambda f, layers: windows.alternating(f, layers, period=2),
    )
    return read_with(fields, family, facts)


def read_gemma3(fields: Fields, family: str) -> Structure:
    """Five sliding layers to one global one, unless a list or a pattern says otherwise; head norms."""
    period = fields.count("sliding_window_pattern", "_sliding_window_pattern", default=6)
    _causal_only(fields)
    facts = Facts(
        tied_default=True,
        norms=FOUR_NORMS,
        head_norm=HeadNorm.PER_HEAD,
        reach=lambda f, layers: windows.alternating(f, layers, period=period),
    )
    return read_with(fields, family, facts)


def read_gemma4(fields: Fields, family: str) -> Structure:
    gated(fields)
    _causal_only(fields)
    outline = read_outline(fields, family, Names(tied_default=True))
    mixers = shared_from(fields, _attention(outline))
    parts = _feed_forward(outline, mixers)
    side = fields.amount("hidden_size_per_layer_input")
    layers = [
        Layer(
            mixer=mixer,
            feed_forward=Together(parts=(part, PerLayerInput(width=side))) if side else part,
            other=_vectors(outline, part),
        )
        for mixer, part in zip(mixers, parts, strict=True)
    ]
    return outline.structure(layers, outer=per_layer_tables(outline, side))


def _causal_only(fields: Fields) -> None:
    """Attention both ways over images only leaves text causal."""
    fields.one_of("use_bidirectional_attention", ("vision",))


def _attention(outline: Outline) -> list[Attention]:
    """Local heads of ``head_dim``; global ones of ``global_head_dim``, with their own number of KV heads."""
    fields = outline.fields
    h, h_kv = fields.count("num_attention_heads"), fields.count("num_key_value_heads")
    bias, d_head = fields.flag("attention_bias"), fields.count("head_dim", default=256)
    local = Attention(
        h=h, h_kv=h_kv, d_k=d_head, d_v=d_head, qkv_bias=bias, output_bias=bias,
        head_norm=HeadNorm.PER_HEAD,
    )  # fmt: skip
    same, wide = fields.flag("attention_k_eq_v"), fields.count("global_head_dim", default=512)
    declared = fields.optional_count("num_global_key_value_heads")
    global_kv = declared if same and declared is not None else h_kv
    for found in (h_kv, global_kv):
        divisor(fields, "num_key_value_heads", h=h, h_kv=found)
    everywhere = replace(local, h_kv=global_kv, d_k=wide, d_v=wide, value_is_key=same)
    if same:
        outline.remarks.append(
            "attention_k_eq_v: global layers have no value projection; K and V are stored apart"
        )
    reach = windows.alternating(fields, outline.layers, period=6)
    return [
        everywhere if each.span is Span.FULL else replace(local, span=each.span, window=each.window)
        for each in reach
    ]


def shared_from(fields: Fields, mixers: list[Attention]) -> list[Attention]:
    """The last ``num_kv_shared_layers`` take K and V from the last own layer of the same kind."""
    first = len(mixers) - fields.amount("num_kv_shared_layers")
    own = {mixer.span: position for position, mixer in enumerate(mixers[:first])}
    for mixer in mixers[first:]:
        if mixer.span not in own:
            raise fields.refused(
                "num_kv_shared_layers", len(mixers) - first, "an earlier layer of each kind"
            )
    return [
        mixer if position < first else replace(mixer, shares_layer=own[mixer.span])
        for position, mixer in enumerate(mixers)
    ]


def _feed_forward(outline: Outline, mixers: list[Attention]) -> list[FeedForward]:
    """A dense part, twice as wide where K and V are shared if so declared, beside experts if any."""
    fields = outline.fields
    width, double = fields.count("intermediate_size"), fields.flag("use_double_wide_mlp")
    widths = [width * (2 if double and m.shares_layer is not None else 1) for m in mixers]
    if not fields.flag("enable_moe_block"):
        return [DenseFeedForward(width=each) for each in widths]
    experts = Experts(
        experts=fields.count("num_experts"),
        chosen=fields.count("top_k_experts"),
        width=fields.count("moe_intermediate_size", "expert_intermediate_size"),
        module="moe",
    )
    return [Together(parts=(DenseFeedForward(width=each), experts)) for each in widths]


def _vectors(outline: Outline, part: FeedForward) -> tuple[Tensor, ...]:
    """Norms of the layer, its scalar, and with experts three more norms and the router's two scales."""
    d_model = outline.d_model
    names = (*FOUR_NORMS, *(_EXPERT_NORMS if isinstance(part, Together) else ()))
    found = [norm(name, d_model) for name in names] + [norm("layer_scalar", 1)]
    if isinstance(part, Together):
        experts = outline.fields.count("num_experts")
        found += [norm("router.scale", d_model), norm("router.per_expert_scale", experts)]
    return tuple(found)


def per_layer_tables(outline: Outline, side: int) -> tuple[Tensor, ...]:
    """The final norm, and a table of ``side`` elements for each layer with its projection."""
    vocabulary = outline.fields.optional_count("vocab_size_per_layer_input")
    if not side:
        return (norm("model.norm", outline.d_model),)
    width = side * outline.layers
    return (
        Tensor(
            module="model.embed_tokens_per_layer",
            rows=vocabulary or outline.vocabulary,
            columns=width,
            kind=TensorKind.TABLE,
        ),
        Tensor(module="model.per_layer_model_projection", rows=width, columns=outline.d_model),
        norm("model.per_layer_projection_norm", side),
        norm("model.norm", outline.d_model),
    )
