"""What one rank holds and computes: the structure cut by tensor and expert parallel, stage by stage.

Query heads, feed-forward widths and the vocabulary are cut; KV heads are cut as far as they go and
replicated beyond; a compressed latent belongs to all heads and is replicated on every rank, as are routers
and norms. Whatever cannot be cut evenly is refused, because the engine would refuse or pad it.
"""

from dataclasses import replace
from fractions import Fraction
from math import ceil

from assay.analysis.perfmodel.feed_forward.feed_forward import (
    DenseFeedForward,
    Experts,
    FeedForward,
    PerLayerInput,
    Together,
)
from assay.analysis.perfmodel.mixers.attention import Attention
from assay.analysis.perfmodel.mixers.cross_attention import CrossAttention
from assay.analysis.perfmodel.mixers.delta_net import GatedDeltaNet
from assay.analysis.perfmodel.mixers.latent import LatentAttention
from assay.analysis.perfmodel.mixers.lightning import LightningAttention
from assay.analysis.perfmodel.mixers.mamba import Mamba
from assay.analysis.perfmodel.mixers.mamba2 import Mamba2
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.mixers.short_conv import ShortConvolution
from assay.analysis.perfmodel.mixers.side_by_side import SideBySide
from assay.analysis.perfmodel.parallel.layout import Layout, refused
from assay.analysis.perfmodel.structure import Layer, Structure
from assay.analysis.perfmodel.tensors import Tensor, TensorKind


def rank_structure(structure: Structure, layout: Layout) -> Structure:
    """The structure of one rank of every stage together: all layers, each cut to the rank's share."""
    if layout.expert > 1 and not any(experts_of(x.feed_forward) for x in structure.layers):
        raise refused(
            "expert", layout.expert, "1: this model has no experts", "Use tensor or data."
        )
    cut = {layer: _rank_layer(layer, layout) for layer, _ in structure.kinds()}
    return replace(
        structure,
        layers=tuple(cut[layer] for layer in structure.layers),
        vocabulary=ceil(structure.vocabulary / layout.tensor),
        outer=tuple(_rank_outer(tensor, layout.tensor) for tensor in structure.outer),
    )


def _rank_outer(tensor: Tensor, ranks: int) -> Tensor:
    """Tables are cut by rows as the vocabulary is; whatever else lies around the layers is replicated."""
    if tensor.kind is not TensorKind.TABLE:
        return tensor
    return replace(tensor, rows=ceil(tensor.rows / ranks))


def _rank_layer(layer: Layer, layout: Layout) -> Layer:
    mixer, feed_forward = layer.mixer, layer.feed_forward
    return replace(
        layer,
        mixer=None if mixer is None else rank_mixer(mixer, layout.tensor),
        feed_forward=None if feed_forward is None else rank_feed_forward(feed_forward, layout),
    )


def group_rows(rows: int, layout: Layout) -> int:
    """Tokens that reach a rank's experts: those of every replica that shares them."""
    return rows * max(1, layout.expert // layout.tensor)


def rank_mixer(mixer: Mixer, tensor: int) -> Mixer:
    """One rank's share of a mixer under ``tensor`` ranks: its heads or channels."""
    match mixer:
        case _ if tensor == 1:
            return mixer
        case Attention():
            heads, kv_heads = _cut(mixer.h, tensor, "query heads"), _few(mixer.h_kv, tensor)
            return replace(mixer, h=heads, h_kv=kv_heads)
        case LatentAttention() | CrossAttention():
            return replace(mixer, h=_cut(mixer.h, tensor, "query heads"))
        case GatedDeltaNet():
            keys, values = _few(mixer.h_k, tensor), _cut(mixer.h_v, tensor, "value heads")
            return replace(mixer, h_k=keys, h_v=values)
        case LightningAttention():
            return replace(mixer, h=_cut(mixer.h, tensor, "heads"))
        case Mamba():
            return replace(mixer, inner=_cut(mixer.inner, tensor, "inner channels"))
        case Mamba2():
            heads, groups = _cut(mixer.heads, tensor, "heads"), _few(mixer.groups, tensor)
            return replace(mixer, heads=heads, groups=groups)
        case ShortConvolution():
            return replace(mixer, width=_cut(mixer.width, tensor, "channels"))
        case SideBySide():
            return replace(mixer, mixers=tuple(rank_mixer(each, tensor) for each in mixer.mixers))
    raise refused(
        "tensor", f"{tensor} for {mixer.kind}", "1", "How this mixer is cut is not modelled."
    )


def rank_feed_forward(feed_forward: FeedForward, layout: Layout) -> FeedForward:
    """One rank's share of a feed-forward: widths cut by tensor, experts spread over the expert group."""
    match feed_forward:
        case DenseFeedForward():
            width = _cut(feed_forward.width, layout.tensor, "feed-forward width")
            return replace(feed_forward, width=width)
        case Experts():
            return _rank_experts(feed_forward, layout)
        case Together():
            parts = tuple(rank_feed_forward(part, layout) for part in feed_forward.parts)
            return replace(feed_forward, parts=parts)
        case PerLayerInput():
            return feed_forward
    raise refused("tensor", feed_forward.kind, "dense or experts", "This part is not modelled.")


def experts_of(feed_forward: FeedForward | None) -> Experts | None:
    """The experts of a feed-forward, alone or beside another part."""
    if isinstance(feed_forward, Together):
        found = [experts_of(part) for part in feed_forward.parts]
        return next((each for each in found if each is not None), None)
    return feed_forward if isinstance(feed_forward, Experts) else None


def _rank_experts(experts: Experts, layout: Layout) -> Experts:
    spread = layout.expert
    if max(spread, layout.tensor) % min(spread, layout.tensor):
        raise refused(
            "expert", spread, f"a divisor or multiple of tensor = {layout.tensor}", "Align them."
        )
    left = max(1, layout.tensor // spread)  # tensor ranks that still cut each expert
    return replace(
        experts,
        experts=_cut(experts.experts, spread, "experts"),
        chosen=Fraction(experts.chosen) / spread,
        width=_cut(experts.width, left, "expert width"),
        shared_width=_cut(experts.shared_width, layout.tensor, "shared expert width"),
        routes=experts.routes or experts.experts,
    )


def _few(heads: int, tensor: int) -> int:
    """Heads of which there may be fewer than ranks: cut evenly, or one each, replicated."""
    if heads >= tensor:
        return _cut(heads, tensor, "KV or key heads")
    if tensor % heads:
        raise refused("tensor", tensor, f"a multiple of {heads} KV heads", "Use another degree.")
    return 1


def _cut(size: int, ranks: int, what: str) -> int:
    if size % ranks:
        raise refused(
            "layout", f"{size} {what} over {ranks} ranks", "a divisor", "Use another degree."
        )
    return size // ranks
