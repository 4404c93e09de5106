"""Decoders of llama's form: softmax attention and one feed-forward a layer, with what each family adds.

A family's facts say what its modelling code does where the configuration is silent. Sources: the modelling
code of transformers 4.40 to 5.24.
"""

from collections.abc import Callable
from dataclasses import dataclass

from assay.analysis.perfmodel.feed_forward.feed_forward import FeedForward, norm
from assay.analysis.perfmodel.mixers.attention import Attention, HeadNorm
from assay.analysis.perfmodel.reading import experts, windows
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import gated, head_width, kv_heads
from assay.analysis.perfmodel.reading.outline import Names, Outline, read_outline
from assay.analysis.perfmodel.reading.windows import Reach
from assay.analysis.perfmodel.structure import Layer, Structure

TWO_NORMS = ("input_layernorm", "post_attention_layernorm")
FOUR_NORMS = (*TWO_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """``qkv_bias`` and ``output_bias``: fixed by the code, or None when ``attention_bias`` decides."""

    tied_default: bool = False
    qkv_bias: bool | None = None
    output_bias: bool | None = None
    head_norm: HeadNorm = HeadNorm.NONE
    norms: tuple[str, ...] = TWO_NORMS
    norm_bias: bool = False
    sinks: bool = False
    feed_forward: Callable[[Fields, int], list[FeedForward]] = experts.dense
    reach: Callable[[Fields, int], list[Reach]] = windows.full_everywhere
    ignored: tuple[str, ...] = ()


FACTS: dict[str, Facts] = {
    "llama": Facts(),
    "mistral": Facts(
        qkv_bias=False, output_bias=False, reach=windows.declared_everywhere
    ),
    "phi3": Facts(qkv_bias=False, output_bias=False, reach=windows.declared_everywhere),
    "qwen2": Facts(qkv_bias=True, output_bias=False, reach=windows.switched),
    "qwen2_moe": Facts(
        qkv_bias=True, output_bias=False, reach=windows.switched, feed_forward=experts.sparse_steps
    ),
    "qwen3": Facts(head_norm=HeadNorm.PER_HEAD, reach=windows.switched),
    "qwen3_moe": Facts(
        head_norm=HeadNorm.PER_HEAD, reach=windows.switched, feed_forward=experts.sparse_steps
    ),
    "gemma": Facts(tied_default=True),
    "granite": Facts(
        ignored=(
            "embedding_multiplier", "logits_scaling", "residual_multiplier", "attention_multiplier",
        )
    ),
    "olmo2": Facts(
        head_norm=HeadNorm.WHOLE, norms=("post_attention_layernorm", "post_feedforward_layernorm")
    ),
    "smollm3": Facts(
        tied_default=True,
        reach=windows.switched,
        ignored=("no_rope_layers", "no_rope_layer_interval", "max_window_layers"),
    ),
    "seed_oss": Facts(output_bias=False),
    "qwen3_vl_text": Facts(head_norm=HeadNorm.PER_HEAD),
    "qwen3_vl_moe_text": Facts(head_norm=HeadNorm.PER_HEAD, feed_forward=experts.sparse_steps),
    "mixtral": Facts(
        qkv_bias=False,
        output_bias=False,
        reach=windows.declared_everywhere,
        feed_forward=experts.local_experts,
    ),
    "gpt_oss": Facts(
        sinks=True,
        reach=lambda fields, layers: windows.alternating(fields, layers, period=2),
        feed_forward=experts.biased_experts,
    ),
}  # fmt: skip


def read_llama_like(fields: Fields, family: str) -> Structure:
    """A decoder of one of the families in ``FACTS``."""
    return read_with(fields, family, FACTS[family])


def read_with(fields: Fields, family: str, facts: Facts) -> Structure:
    gated(fields)
    fields.without_effect(facts.ignored)
    outline = read_outline(fields, family, Names(tied_default=facts.tied_default))
    mixers = attention_layers(outline, facts)
    parts = facts.feed_forward(fields, outline.layers)
    norms = tuple(norm(name, outline.d_model, bias=facts.norm_bias) for name in facts.norms)
    layers = [
        Layer(mixer=mixer, feed_forward=part, other=norms)
        for mixer, part in zip(mixers, parts, strict=True)
    ]
    return outline.structure(
        layers,
        outer=(norm("model.norm", outline.d_model, bias=facts.norm_bias),),
        head_bias=fields.flag("lm_head_bias"),
    )


def attention_layers(outline: Outline, facts: Facts) -> list[Attention]:
    """One attention a layer, with the heads, biases and reach that the configuration gives it."""
    fields, count = outline.fields, outline.layers
    h = fields.count("num_attention_heads")
    d_head = head_width(fields, d_model=outline.d_model, h=h, remarks=outline.remarks)
    own_bias = fields.flag("attention_bias")
    reach = facts.reach(fields, count)
    return [
        Attention(
            h=h,
            h_kv=h_kv,
            d_k=d_head,
            d_v=d_head,
            span=reach[i].span,
            window=reach[i].window,
            sinks=facts.sinks,
            qkv_bias=own_bias if facts.qkv_bias is None else facts.qkv_bias,
            output_bias=own_bias if facts.output_bias is None else facts.output_bias,
            head_norm=facts.head_norm,
        )
        for i, h_kv in enumerate(kv_heads(fields, h=h, layers=count))
    ]
