"""Attention over the paged cache, as a function that transformers' models call in place of their own.

Per layer: the step's new keys and values go into their blocks, then every decode group and every prompt
chunk runs scaled_dot_product_attention over the keys and values gathered from its blocks. Query heads of one
KV head are handled together, so grouped heads are never copied.
"""

import contextlib
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import record_function
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface

from runners.engines.torch.attention_names import ANNOTATION, IMPLEMENTATION
from runners.engines.torch.paged_cache import DecodeGroup, PromptChunk, StepLayout


class _Tracing:
    """Whether a profiler listens: the annotation costs a few microseconds per layer otherwise."""

    on = False


def set_tracing(on: bool) -> None:
    _Tracing.on = on


def paged_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    step: StepLayout,
    scaling: float | None = None,
    **_ignored: Any,
) -> tuple[torch.Tensor, None]:
    """query (1, h, tokens, d_head), key and value (1, h_kv, tokens, d_head) -> (1, tokens, h, d_head)."""
    annotated = record_function(ANNOTATION) if _Tracing.on else contextlib.nullcontext()
    layer: int = module.layer_idx  # type: ignore[assignment]  # transformers numbers its layers
    with annotated:
        step.cache.write(layer, step.slots, key[0].transpose(0, 1), value[0].transpose(0, 1))
        rows = query[0].transpose(0, 1)  # (tokens, h, d_head)
        out = torch.empty_like(rows, memory_format=torch.contiguous_format)
        h_kv = key.shape[1]
        for group in step.decodes:
            out[group.start : group.end] = _decode(layer, rows, step, group, h_kv, scaling)
        for chunk in step.chunks:
            out[chunk.start : chunk.end] = _prompt(layer, rows, step, chunk, h_kv, scaling)
    return out.unsqueeze(0), None


def _decode(
    layer: int,
    rows: torch.Tensor,
    step: StepLayout,
    group: DecodeGroup,
    h_kv: int,
    scaling: float | None,
) -> torch.Tensor:
    count, (h, d_head) = group.end - group.start, rows.shape[1:]
    # The query heads of a KV head act as so many query rows: (requests, h_kv, h / h_kv, d_head).
    query = rows[group.start : group.end].reshape(count, h_kv, h // h_kv, d_head)
    keys, values = step.cache.read(
        layer, group.blocks, rows=count, length=group.length, dtype=rows.dtype
    )
    attended = scaled_dot_product_attention(
        query, keys.transpose(1, 2), values.transpose(1, 2), attn_mask=group.mask, scale=scaling
    )
    return attended.reshape(count, h, d_head)


def _prompt(
    layer: int,
    rows: torch.Tensor,
    step: StepLayout,
    chunk: PromptChunk,
    h_kv: int,
    scaling: float | None,
) -> torch.Tensor:
    count, (h, d_head) = chunk.end - chunk.start, rows.shape[1:]
    query = rows[chunk.start : chunk.end].transpose(0, 1).reshape(h_kv, h // h_kv, count, d_head)
    # KV heads as the batch, the query heads of each beside one another; the expanded axis has stride 0.
    keys, values = (
        part[0].transpose(0, 1).unsqueeze(1).expand(-1, h // h_kv, -1, -1)
        for part in step.cache.read(
            layer, chunk.blocks, rows=1, length=chunk.length, dtype=rows.dtype
        )
    )
    attended = scaled_dot_product_attention(
        query, keys, values, attn_mask=chunk.mask, is_causal=chunk.mask is None, scale=scaling
    )
    return attended.reshape(h, count, d_head).transpose(0, 1)


def _no_mask(*_args: Any, **_kwargs: Any) -> None:
    """The layout masks by request; a mask over the flat batch would be wrong."""


def register() -> None:
    """Make the function known to transformers under its name. Safe to repeat."""
    AttentionInterface.register(IMPLEMENTATION, paged_attention)
    AttentionMaskInterface.register(IMPLEMENTATION, _no_mask)
