"""The work-determining structure of a model, layer by layer."""

from dataclasses import dataclass, field, replace

from assay.analysis.perfmodel.feed_forward.feed_forward import FeedForward
from assay.analysis.perfmodel.mixers.mixer import Mixer
from assay.analysis.perfmodel.tensors import Tensor, TensorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One block: a mixer and a feed-forward, either may be absent; ``other`` are norms and the like."""

    mixer: Mixer | None
    feed_forward: FeedForward | None
    other: tuple[Tensor, ...] = ()

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        parts = (self.mixer, self.feed_forward)
        own = (tensor for part in parts if part is not None for tensor in part.tensors(d_model))
        return (*own, *self.other)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerKind:
    """Equal layers and their positions in the model."""

    layer: Layer
    positions: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Layers in their order, the tables around them, and what was assumed or left out.

    ``vocabulary`` rows of ``d_model`` in the embedding; ``tied``: the output head is the same matrix.
    ``outer`` are further tensors outside the layers (final norm, learned positions, per-layer embeddings).
    ``max_length`` is in tokens. ``declared_dtype`` is what the configuration says of its weights, or None;
    ``recurrent_dtype`` what it says of recurrent state.
    """

    family: str
    d_model: int
    vocabulary: int
    layers: tuple[Layer, ...]
    tied: bool
    outer: tuple[Tensor, ...] = ()
    head_bias: bool = False
    max_length: int | None = None
    declared_dtype: str | None = None
    recurrent_dtype: str | None = None
    assumptions: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
    layer_kinds: tuple[LayerKind, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Group equal layers once: every account below runs over kinds, not over layers."""
        positions: dict[Layer, list[int]] = {}
        for position, layer in enumerate(self.layers):
            positions.setdefault(layer, []).append(position)
        kinds = tuple(
            LayerKind(layer=layer, positions=tuple(found)) for layer, found in positions.items()
        )
        object.__setattr__(self, "layer_kinds", kinds)

    def kinds(self) -> list[tuple[Layer, int]]:
        """Each distinct layer with how often it occurs, in order of first occurrence."""
        return [(kind.layer, kind.count) for kind in self.layer_kinds]

    @property
    def embedding(self) -> Tensor:
        return Tensor(
            module="model.embed_tokens",
            rows=self.vocabulary,
            columns=self.d_model,
            kind=TensorKind.TABLE,
            operator="embedding",
        )

    @property
    def head(self) -> Tensor:
        """The output head; the embedding's own matrix when tied."""
        return Tensor(
            module="lm_head",
            rows=self.vocabulary,
            columns=self.d_model,
            bias=self.vocabulary if self.head_bias else 0,
            operator="head",
        )

    def with_assumption(self, text: str) -> "Structure":
        return replace(self, assumptions=(*self.assumptions, text))
