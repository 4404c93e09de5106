"""Softmax attention whose K and V are stored as they are: MHA, GQA and MQA, whole, windowed or chunked."""

from dataclasses import dataclass
from enum import StrEnum

from assay.analysis.perfmodel.mixers.mixer import StatePart, StoredAs
from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.tensors import Tensor, TensorKind


class HeadNorm(StrEnum):
    """Norm of queries and keys: none, over each head, or over the whole projection."""

    NONE = "none"
    PER_HEAD = "per_head"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """``h`` query heads over ``h_kv`` KV heads of ``d_k`` and ``d_v``; ``window`` tokens where bounded.

    ``sinks``: one learned logit a head. ``gated_output``: the query projection is twice as wide.
    ``value_is_key``: no value projection, though K and V are stored apart. ``shares_layer``: index of the
    layer whose K and V are read instead of own ones; such a layer projects and stores none. ``module`` is
    the part's name in the layer.
    """

    h: int
    h_kv: int
    d_k: int
    d_v: int
    span: Span = Span.FULL
    window: int | None = None
    sinks: bool = False
    gated_output: bool = False
    value_is_key: bool = False
    shares_layer: int | None = None
    qkv_bias: bool = False
    output_bias: bool = False
    head_norm: HeadNorm = HeadNorm.NONE
    module: str = "self_attn"

    @property
    def kind(self) -> str:
        """The grouping of heads, with the span where it is bounded."""
        return self.grouping + self._bounded

    @property
    def grouping(self) -> str:
        """``mha`` when every query head has its own KV head, ``mqa`` when one serves all, else ``gqa``."""
        if self.h_kv == self.h:
            return "mha"
        return "mqa" if self.h_kv == 1 else "gqa"

    @property
    def q_width(self) -> int:
        return self.h * self.d_k

    @property
    def k_width(self) -> int:
        return self.h_kv * self.d_k

    @property
    def v_width(self) -> int:
        return self.h_kv * self.d_v

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        q_rows = self.q_width * (2 if self.gated_output else 1)
        found = [self._projection("q_proj", q_rows, d_model)]
        if self.shares_layer is None:
            found.append(self._projection("k_proj", self.k_width, d_model))
            if not self.value_is_key:
                found.append(self._projection("v_proj", self.v_width, d_model))
        found.append(
            Tensor(
                module=f"{self.module}.o_proj",
                rows=d_model,
                columns=self.h * self.d_v,
                bias=d_model if self.output_bias else 0,
            )
        )
        return (*found, *self._vectors())

    def state(self) -> tuple[StatePart, ...]:
        return () if self.shares_layer is not None else self.reads()

    def reads(self) -> tuple[StatePart, ...]:
        """K and V of the kept tokens; 2 FLOP an element for q k and for p v, over every query head."""
        return (
            StatePart(
                kind=f"{self.grouping}_kv_cache{self._bounded}",
                stored_as=StoredAs.KV,
                per_token=self.k_width + self.v_width,
                kept_tokens=self.window,
                read_tokens=self.window,
                flops_per_attended=2 * self.h * (self.d_k + self.d_v),
                span=self.span,
                stage=f"attention{self._bounded}",
                activations=self.h * (self.d_k + self.d_v),
            ),
        )

    @property
    def _bounded(self) -> str:
        return "" if self.span is Span.FULL else f"_{self.span}"

    def _projection(self, name: str, rows: int, d_model: int) -> Tensor:
        return Tensor(
            module=f"{self.module}.{name}",
            rows=rows,
            columns=d_model,
            bias=rows if self.qkv_bias else 0,
        )

    def _vectors(self) -> tuple[Tensor, ...]:
        own_keys = self.shares_layer is None
        vectors: list[tuple[str, int]] = []
        if self.head_norm is not HeadNorm.NONE:
            whole = self.head_norm is HeadNorm.WHOLE
            vectors.append((f"{self.module}.q_norm", self.q_width if whole else self.d_k))
            if own_keys:
                vectors.append((f"{self.module}.k_norm", self.k_width if whole else self.d_k))
        if self.sinks:
            vectors.append((f"{self.module}.sinks", self.h))
        return tuple(
            Tensor(module=module, rows=1, columns=width, kind=TensorKind.VECTOR)
            for module, width in vectors
        )
