"""Blocks that a search made unlike: KV heads and feed-forward width of every layer (DeciLM, Nemotron NAS).

``block_configs`` says for each block how many query heads share a KV head and how wide the feed-forward is,
or that a part is left out.
"""

from assay.analysis.perfmodel.feed_forward.feed_forward import DenseFeedForward, norm
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.reading.fields import Fields
from assay.analysis.perfmodel.reading.heads import gated, head_width
from assay.analysis.perfmodel.reading.outline import Outline, read_outline
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.tensors import Tensor

_MULTIPLE = 256  # widths are rounded up to this


def read_blocks(fields: Fields, family: str) -> Structure:
    gated(fields)
    fields.without_effect(("num_key_value_heads", "intermediate_size"))
    outline = read_outline(fields, family)
    h = fields.count("num_attention_heads")
    d_head = head_width(fields, d_model=outline.d_model, h=h, remarks=outline.remarks)
    bias = fields.flag("attention_bias")
    mlp_bias = fields.flag("mlp_bias")
    blocks = fields.objects("block_configs") or []
    if len(blocks) != outline.layers:
        raise fields.refused(
            "block_configs", f"{len(blocks)} entries", f"{outline.layers}, one a layer"
        )
    layers = []
    for position, block in enumerate(blocks):
        part = Fields(block, path=f"block_configs.{position}.")
        mixer = _attention(part, h=h, d_head=d_head, bias=bias)
        feed_forward = _feed_forward(part, outline.d_model, bias=mlp_bias)
        part.left_over()
        layers.append(_layer(outline, mixer, feed_forward))
    return outline.structure(layers)


def _layer(
    outline: Outline, mixer: Attention | None, feed_forward: DenseFeedForward | None
) -> Layer:
    """A part that is left out has no norm either."""
    norms: list[Tensor] = []
    if mixer is not None:
        norms.append(norm("input_layernorm", outline.d_model))
    if feed_forward is not None:
        norms.append(norm("post_attention_layernorm", outline.d_model))
    return Layer(mixer=mixer, feed_forward=feed_forward, other=tuple(norms))


def _attention(block: Fields, *, h: int, d_head: int, bias: bool) -> Attention | None:
    part = _part(block, "attention")
    group = part.optional_count("n_heads_in_group")
    left_out = part.flag("no_op")
    part.left_over()
    if left_out:
        return None
    if group is None or h % group:
        raise part.refused("n_heads_in_group", group, f"a divisor of the {h} query heads")
    return Attention(h=h, h_kv=h // group, d_k=d_head, d_v=d_head, qkv_bias=bias, output_bias=bias)


def _feed_forward(block: Fields, d_model: int, *, bias: bool) -> DenseFeedForward | None:
    """Two thirds of twice the multiple of d_model, rounded up."""
    part = _part(block, "ffn")
    factor, left_out = part.value("ffn_mult"), part.flag("no_op")
    part.left_over()
    if left_out:
        return None
    if isinstance(factor, bool) or not isinstance(factor, int | float) or factor <= 0:
        raise part.refused("ffn_mult", factor, "a positive number")
    width = int(2 * factor * d_model / 3)
    return DenseFeedForward(width=_MULTIPLE * -(-width // _MULTIPLE), bias=bias)


def _part(block: Fields, name: str) -> Fields:
    part = block.section(name)
    if part is None:
        raise block.refused(name, "absent", "an object")
    return part
