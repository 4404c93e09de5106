"""Kimi Linear: delta attention with latent attention between, experts behind the first layers.

Two forms are read: ``linear_attn_config`` as checkpoints have it, and the flat fields of transformers.
"""

from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    Experts,
    FeedForward,
    norm,
)
from assay.analysis.perfmodel.mixers.kimi_delta import KimiDeltaAttention
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.reading.deepseek import read_latent_mixer
from assay.analysis.perfmodel.reading.experts import sparse_layers
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import gated
from assay.analysis.perfmodel.reading.llama_like import TWO_NORMS
from assay.analysis.perfmodel.reading.outline import Names, Outline, read_outline
from assay.analysis.perfmodel.reading.windows import layer_kinds
from assay.analysis.perfmodel.structure import Layer, Structure

_FULL, _LINEAR = "full_attention", "linear_attention"


def read_kimi_linear(fields: Fields, family: str) -> Structure:
    """The first layer alone is dense where nothing says so."""
    if not fields.has("first_k_dense_replace") and not fields.has("mlp_layer_types"):
        fields = fields.with_defaults({"first_k_dense_replace": 1})
    gated(fields)
    fields.without_effect(
        ("mla_use_nope", "moe_renormalize", "moe_router_activation_func", "use_grouped_topk",
         "num_expert_group", "head_dim")
    )  # fmt: skip
    names = Names(length=("model_max_length", "max_position_embeddings"))
    outline = read_outline(fields, family, names)
    linear = fields.section("linear_attn_config") or Fields({}, path="linear_attn_config.")
    mixers: dict[str, Mixer] = {
        _FULL: read_latent_mixer(outline),
        _LINEAR: KimiDeltaAttention(
            h=linear.optional_count("num_heads") or fields.count("linear_num_heads"),
            d_head=linear.optional_count("head_dim") or fields.count("linear_head_dim"),
            kernel=linear.optional_count("short_conv_kernel_size")
            or fields.count("linear_conv_kernel_dim"),
        ),
    }
    kinds = _kinds(outline, linear)
    outline.omitted.extend(linear.left_over())
    norms = tuple(norm(name, outline.d_model) for name in TWO_NORMS)
    layers = [
        Layer(mixer=mixers[kind], feed_forward=part, other=norms)
        for kind, part in zip(kinds, _parts(outline), strict=True)
    ]
    return outline.structure(layers)


def _kinds(outline: Outline, linear: Fields) -> list[str]:
    """Lists of layers counted from 1, or ``layer_types``."""
    count = outline.layers
    full, delta = linear.whole_numbers("full_attn_layers"), linear.whole_numbers("kda_layers")
    listed = layer_kinds(outline.fields, count, allowed=(_FULL, _LINEAR))
    if listed is not None:
        return listed
    if full is None or delta is None or sorted([*full, *delta]) != list(range(1, count + 1)):
        raise linear.refused("full_attn_layers", full, f"with kda_layers, all of 1 to {count}")
    return [_FULL if i + 1 in full else _LINEAR for i in range(count)]


def _parts(outline: Outline) -> list[FeedForward]:
    fields, count = outline.fields, outline.layers
    width = fields.count("moe_intermediate_size")
    experts = Experts(
        experts=fields.count("num_experts", "num_local_experts"),
        chosen=fields.count("num_experts_per_token", "num_experts_per_tok"),
        width=width,
        shared_width=width * (fields.optional_count("num_shared_experts", "n_shared_experts") or 0),
        router_bias=True,
    )
    plain = DenseFeedForward(width=fields.count("intermediate_size"))
    return [experts if each else plain for each in sparse_layers(fields, count)]
