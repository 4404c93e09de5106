"""The patterns of a model that the device micro-benchmark times: its matrices and its state.

Each pattern is a callable that does a known amount of work; nothing here reads a clock. Bytes count what
the pattern must read (or move) from memory once; FLOPs count 2 per multiply-add. Tensors are made on torch's
default device, which the caller sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # importing this module must not load torch; making a pattern does
    import torch

BLOCK_TOKENS = 16  # tokens per KV block in the gather pattern
EXECUTION, SUBMISSION = "execution", "submission"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """The model shapes whose matrices, state and vectors the patterns use."""

    layers: int
    d_model: int
    heads: int
    kv_heads: int
    d_head: int
    d_ff: int
    vocabulary: int

    def layer_matrices(self) -> list[tuple[int, int]]:
        """(out, in) of one layer's matrices: q, k, v, o, gate, up, down."""
        q, kv = self.heads * self.d_head, self.kv_heads * self.d_head
        d, f = self.d_model, self.d_ff
        return [(q, d), (kv, d), (kv, d), (d, q), (f, d), (f, d), (d, f)]

    def elements(self) -> int:
        """Elements of all matrices of all layers and of the output head."""
        per_layer = sum(rows * columns for rows, columns in self.layer_matrices())
        return self.layers * per_layer + self.vocabulary * self.d_model


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One thing to time. ``bytes``, ``flops`` and ``calls`` are those of one call of ``run``.

    ``timed`` is ``execution``, or ``submission`` for what the host spends until it is free again.
    """

    name: str
    pattern: str
    dtype: str
    conditions: dict[str, Any]
    run: Callable[[], object]
    working_set_bytes: int
    bytes: int | None = None
    flops: int | None = None
    calls: int | None = None
    timed: str = EXECUTION


class Weights:
    """One buffer seen as the model's matrices: a pass over them reads what a decode step reads."""

    def __init__(self, shapes: Shapes, dtype: torch.dtype, *, layers: int) -> None:
        import torch

        self.shapes = shapes
        matrices = shapes.layer_matrices() * layers + [(shapes.vocabulary, shapes.d_model)]
        total = sum(rows * columns for rows, columns in matrices)
        self.buffer = torch.full((total,), 0.5, dtype=dtype)
        self.matrices, offset = [], 0
        for rows, columns in matrices:
            self.matrices.append(self.buffer[offset : offset + rows * columns].view(rows, columns))
            offset += rows * columns

    @property
    def bytes(self) -> int:
        return self.buffer.numel() * self.buffer.element_size()


def read_patterns(buffer: torch.Tensor, *, label: str, columns: int) -> list[Pattern]:
    """Read-only passes over ``buffer``: a sum reduction and a matrix-vector product."""
    import torch

    size = buffer.numel() * buffer.element_size()
    matrix = buffer[: buffer.numel() // columns * columns].view(-1, columns)
    vector = torch.rand(columns, dtype=buffer.dtype)
    conditions = {"set": label, "access": "read only, sequential"}
    return [
        Pattern(
            name=f"read_sum.{label}",
            pattern="sum reduction",
            dtype=dtype_name(buffer.dtype),
            conditions=conditions,
            run=buffer.sum,
            working_set_bytes=size,
            bytes=size,
        ),
        Pattern(
            name=f"read_gemv.{label}",
            pattern="matrix-vector product",
            dtype=dtype_name(buffer.dtype),
            conditions={**conditions, "columns": columns},
            run=lambda: matrix.mv(vector),
            working_set_bytes=size,
            bytes=matrix.numel() * matrix.element_size(),
        ),
    ]


def matmul_pattern(weights: Weights, *, rows: int) -> Pattern:
    """One pass of ``rows`` input rows through every matrix: decode (few rows) to prefill (many)."""
    import torch
    from torch.nn import functional

    widths = {matrix.shape[1] for matrix in weights.matrices}
    dtype = weights.buffer.dtype
    inputs = {width: torch.rand(rows, width).to(dtype) for width in widths}

    def run() -> None:
        for matrix in weights.matrices:
            functional.linear(inputs[matrix.shape[1]], matrix)

    return Pattern(
        name=f"matmul.{dtype_name(dtype)}.rows_{rows}",
        pattern="every matrix of the model once, in order",
        dtype=dtype_name(dtype),
        conditions={"rows": rows, "matrices": len(weights.matrices)},
        run=run,
        working_set_bytes=weights.bytes,
        bytes=weights.bytes,
        flops=2 * rows * weights.buffer.numel(),
        calls=len(weights.matrices),
    )


def state_pattern(shapes: Shapes, *, batch: int, context: int) -> Pattern:
    """Decode attention: one token per sequence over ``context`` stored ones, each layer its own state."""
    import torch
    from torch.nn import functional

    size = (batch, shapes.kv_heads, context, shapes.d_head)
    states = [(torch.rand(size), torch.rand(size)) for _ in range(shapes.layers)]
    query = torch.rand(batch, shapes.heads, 1, shapes.d_head)
    grouped = shapes.heads != shapes.kv_heads

    def run() -> None:
        for key, value in states:
            functional.scaled_dot_product_attention(query, key, value, enable_gqa=grouped)

    stored = sum(k.numel() + v.numel() for k, v in states) * 4
    return Pattern(
        name=f"state_read.batch_{batch}.context_{context}",
        pattern="scaled_dot_product_attention, one query token",
        dtype="float32",
        conditions={"batch": batch, "context": context, "layers": shapes.layers},
        run=run,
        working_set_bytes=stored,
        bytes=stored,
        flops=4 * batch * shapes.layers * shapes.heads * shapes.d_head * context,
        calls=shapes.layers,
    )


def prefill_attention_pattern(shapes: Shapes, *, tokens: int) -> Pattern:
    """Causal attention of ``tokens`` new tokens over themselves; FLOPs are the full square (executed)."""
    import torch
    from torch.nn import functional

    query = torch.rand(1, shapes.heads, tokens, shapes.d_head)
    key, value = (torch.rand(1, shapes.kv_heads, tokens, shapes.d_head) for _ in range(2))
    grouped = shapes.heads != shapes.kv_heads
    size = (key.numel() + value.numel() + query.numel()) * 4
    return Pattern(
        name=f"attention_prefill.tokens_{tokens}",
        pattern="scaled_dot_product_attention, causal",
        dtype="float32",
        conditions={"tokens": tokens, "flops_counted": "full square"},
        run=lambda: functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=grouped
        ),
        working_set_bytes=size,
        flops=4 * shapes.heads * shapes.d_head * tokens * tokens,
        calls=1,
    )


def gather_pattern(shapes: Shapes, *, context: int) -> Pattern:
    """Copy scattered KV blocks of every layer into contiguous tensors; bytes count the read and the write."""
    import torch

    blocks = max(1, context // BLOCK_TOKENS)
    size = (4 * blocks, BLOCK_TOKENS, shapes.kv_heads * shapes.d_head)
    pools = [torch.zeros(size).fill_(0.5) for _ in range(2 * shapes.layers)]
    generator = torch.Generator(device=pools[0].device).manual_seed(0)
    order = torch.randperm(4 * blocks, generator=generator, device=pools[0].device)
    chosen = order[:blocks]
    copied = len(pools) * blocks * BLOCK_TOKENS * size[2] * 4

    def run() -> None:
        for pool in pools:
            pool.index_select(0, chosen)

    return Pattern(
        name=f"state_gather.context_{context}",
        pattern=f"index_select of {BLOCK_TOKENS}-token blocks",
        dtype="float32",
        conditions={"context": context, "blocks": blocks, "access": "read and write, 1:1"},
        run=run,
        working_set_bytes=sum(pool.numel() for pool in pools) * 4,
        bytes=2 * copied,
        calls=len(pools),
    )


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
