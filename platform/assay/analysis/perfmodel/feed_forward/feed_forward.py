"""Feed-forward parts of a layer: one for all tokens, or experts that a router chooses from."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from assay.analysis.perfmodel.tensors import Tensor, TensorKind


class FeedForward(Protocol):
    """What a layer's feed-forward says of itself."""

    @property
    def kind(self) -> str: ...

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        """Its weights, a router's and shared experts' included."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseFeedForward:
    """``width`` hidden units; ``gated``: three matrices, else two. ``module`` is its name in the layer."""

    width: int
    gated: bool = True
    bias: bool = False
    module: str = "mlp"

    @property
    def kind(self) -> str:
        return "dense"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        return matrices(self.module, self.width, d_model, gated=self.gated, bias=self.bias)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """``experts`` of ``width``, ``chosen`` for each token (a fraction on one rank), beside
    ``shared_width`` that all tokens pass.

    ``shared_gate``: one more output that scales the shared part. ``router_bias``: a bias or a correction
    for each expert. ``bias``: biases in the experts' matrices. ``module``, ``router`` and ``shared`` are
    names in the checkpoint. ``routes``: outputs of the router where it knows more experts than lie here.
    """

    experts: int
    chosen: int | Fraction
    width: int
    gated: bool = True
    bias: bool = False
    shared_width: int = 0
    shared_gate: bool = False
    router_bias: bool = False
    module: str = "mlp"
    router: str = "gate"
    shared: str = "shared_experts"
    routes: int | None = None

    @property
    def kind(self) -> str:
        return "moe"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        router = Tensor(
            module=f"{self.module}.{self.router}",
            rows=self.routes or self.experts,
            columns=d_model,
            bias=(self.routes or self.experts) if self.router_bias else 0,
            operator="router",
        )
        found = [router, *self._routed(d_model)]
        if self.shared_width:
            shared = matrices(
                f"{self.module}.{self.shared}",
                self.shared_width,
                d_model,
                gated=self.gated,
                bias=self.bias,
            )
            found += [replace(tensor, operator="shared_experts") for tensor in shared]
        if self.shared_gate:
            found.append(
                Tensor(
                    module=f"{self.module}.shared_expert_gate",
                    rows=1,
                    columns=d_model,
                    operator="shared_experts",
                )
            )
        return tuple(found)

    def _routed(self, d_model: int) -> tuple[Tensor, ...]:
        one = matrices(
            f"{self.module}.experts.*", self.width, d_model, gated=self.gated, bias=self.bias
        )
        return tuple(
            replace(tensor, copies=self.experts, chosen=self.chosen, operator="moe_experts")
            for tensor in one
        )


def matrices(
    prefix: str, width: int, d_model: int, *, gated: bool, bias: bool
) -> tuple[Tensor, ...]:
    """Up, (gate,) and down matrices under ``prefix``."""
    inner = ("gate_proj", "up_proj") if gated else ("up_proj",)
    found = [
        Tensor(module=f"{prefix}.{name}", rows=width, columns=d_model, bias=width if bias else 0)
        for name in inner
    ]
    down = Tensor(
        module=f"{prefix}.down_proj", rows=d_model, columns=width, bias=d_model if bias else 0
    )
    return (*found, down)


def norm(module: str, width: int, *, bias: bool = False) -> Tensor:
    """A norm's scale (and shift) over ``width``."""
    return Tensor(
        module=module, rows=1, columns=width, kind=TensorKind.VECTOR, bias=width if bias else 0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Several feed-forward parts in one layer, as a dense one beside experts in Gemma 4."""

    parts: tuple[FeedForward, ...]

    @property
    def kind(self) -> str:
        return "+".join(part.kind for part in self.parts)

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        return tuple(tensor for part in self.parts for tensor in part.tensors(d_model))


@dataclass(frozen=True, slots=True, kw_only=True)
class PerLayerInput:
    """A gate that feeds every layer ``width`` elements of an embedding of its own, as in Gemma 4."""

    width: int

    @property
    def kind(self) -> str:
        return "per_layer_input"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        return (
            Tensor(module="per_layer_input_gate", rows=self.width, columns=d_model),
            Tensor(module="per_layer_projection", rows=d_model, columns=self.width),
            norm("post_per_layer_input_norm", d_model),
        )
