"""Multi-head latent attention: K and V are stored as one compressed vector and a rotary key for all heads.

Per token and layer ``kv_rank`` + ``d_rope`` elements, whatever the number of heads. A step either works on
the latents (projections absorbed into query and output) or expands them first; the cheaper way counts.
The reference implementations of some models cache expanded K and V: then these figures are the minimum.
Source: DeepSeek-V2 (arXiv 2405.04434) section 2.1, chapter 2.4.2 and 2.8.2; the index: DeepSeek-V3.2.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers.mixer import StatePart, StoredAs
from assay.analysis.perfmodel.mixers.span import Span
from assay.analysis.perfmodel.tensors import Tensor, TensorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseIndex:
    """Picks ``chosen`` tokens by ``heads`` index queries against one stored key of ``d_head`` a token.

    It reads every stored key, so the main cache keeps all tokens: only reads and FLOPs of attention shrink.
    """

    heads: int
    d_head: int
    chosen: int

    def tensors(self, d_model: int, q_rank: int) -> tuple[Tensor, ...]:
        return (
            _matrix("indexer.wq_b", self.heads * self.d_head, q_rank),
            _matrix("indexer.wk", self.d_head, d_model),
            _matrix("indexer.weights_proj", self.heads, d_model),
            _vector("indexer.k_norm", self.d_head, bias=self.d_head),
        )

    def reads(self) -> StatePart:
        """One 8-bit key and one float32 scale a token; the layout is the engine's own."""
        return StatePart(
            kind="sparse_index_keys",
            stored_as=StoredAs.INDEX,
            per_token=self.d_head,
            extra_bytes_per_token=4,
            flops_per_attended=2 * self.heads * (self.d_head + 1),
            activations=self.heads * self.d_head,
            stage="index",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """``h`` heads over a latent of ``kv_rank``; queries through ``q_rank``, or straight when None."""

    h: int
    q_rank: int | None
    kv_rank: int
    d_nope: int
    d_rope: int
    d_v: int
    bias: bool = False
    index: SparseIndex | None = None

    @property
    def kind(self) -> str:
        return "mla" if self.index is None else "mla_sparse"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        biased = self.bias
        down = self.kv_rank + self.d_rope
        return (
            *self._queries(d_model),
            _matrix("kv_a_proj_with_mqa", down, d_model, bias=down if biased else 0),
            _vector("kv_a_layernorm", self.kv_rank),
            _matrix("kv_b_proj", self.h * (self.d_nope + self.d_v), self.kv_rank),
            *self._index_tensors(d_model),
            _matrix("o_proj", d_model, self.h * self.d_v, bias=d_model if biased else 0),
        )

    def state(self) -> tuple[StatePart, ...]:
        return self.reads()

    def reads(self) -> tuple[StatePart, ...]:
        """Latents of the tokens attended to; ``kv_b_proj`` on a new token is the same work either way."""
        latent = StatePart(
            kind="latent_kv_cache",
            stored_as=StoredAs.KV,
            per_token=self.kv_rank + self.d_rope,
            read_tokens=None if self.index is None else self.index.chosen,
            span=Span.FULL if self.index is None else Span.CHOSEN,
            flops_per_attended=2 * self.h * (2 * self.kv_rank + self.d_rope),
            expanded_flops_per_attended=2 * self.h * (self.d_nope + self.d_rope + self.d_v),
            expansion_flops=2 * self.h * (self.d_nope + self.d_v) * self.kv_rank,
            activations=self.h * (self.d_nope + self.d_rope + self.d_v),
            stage="attention_latent",
        )
        return (latent,) if self.index is None else (self.index.reads(), latent)

    def _queries(self, d_model: int) -> tuple[Tensor, ...]:
        width = self.h * (self.d_nope + self.d_rope)
        if self.q_rank is None:
            return (_matrix("q_proj", width, d_model),)
        return (
            _matrix("q_a_proj", self.q_rank, d_model, bias=self.q_rank if self.bias else 0),
            _vector("q_a_layernorm", self.q_rank),
            _matrix("q_b_proj", width, self.q_rank),
        )

    def _index_tensors(self, d_model: int) -> tuple[Tensor, ...]:
        if self.index is None:
            return ()
        return self.index.tensors(d_model, self.q_rank or d_model)


def _matrix(name: str, rows: int, columns: int, *, bias: int = 0) -> Tensor:
    return Tensor(module=f"self_attn.{name}", rows=rows, columns=columns, bias=bias)


def _vector(name: str, width: int, *, bias: int = 0) -> Tensor:
    return Tensor(
        module=f"self_attn.{name}", rows=1, columns=width, kind=TensorKind.VECTOR, bias=bias
    )
