"""The KV cache in blocks, and the layout of one step over it: who writes where, who reads what.

One tensor of keys and one of values per layer, shaped (blocks, block_tokens, h_kv, d_head). The layout of a
step is made once and used by every layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.scheduler import Segment

# Decoding requests share one attention call while the longest of a group has at most this many times the
# blocks of the shortest (plus a few): padding beyond that costs more than another call.
GROUP_RATIO, GROUP_SLACK = 2, 4


class PagedCache:
    def __init__(
        self,
        *,
        layers: int,
        blocks: int,
        block_tokens: int,
        h_kv: int,
        d_head: int,
        dtype: torch.dtype,
    ) -> None:
        self.block_tokens = block_tokens
        shape = (blocks, block_tokens, h_kv, d_head)
        # Written once, so that the pages are the process's from the start and not at the first request.
        self.keys = [torch.zeros(shape, dtype=dtype).fill_(0.0) for _ in range(layers)]
        self.values = [torch.zeros(shape, dtype=dtype).fill_(0.0) for _ in range(layers)]

    @property
    def allocated_bytes(self) -> int:
        return sum(t.nbytes for t in (*self.keys, *self.values))

    def write(
        self, layer: int, slots: torch.Tensor, key: torch.Tensor, value: torch.Tensor
    ) -> None:
        """Store (tokens, h_kv, d_head) at flat token slots of a layer."""
        for cache, new in ((self.keys[layer], key), (self.values[layer], value)):
            cache.flatten(0, 1).index_copy_(0, slots, new.to(cache.dtype))

    def read(
        self, layer: int, blocks: torch.Tensor, *, rows: int, length: int, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of ``rows`` requests, (rows, length, h_kv, d_head), gathered from their blocks."""
        keys, values = (
            cache.index_select(0, blocks).view(rows, -1, *cache.shape[2:])[:, :length].to(dtype)
            for cache in (self.keys[layer], self.values[layer])
        )
        return keys, values


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeGroup:
    """Rows ``start:end`` of the flat batch, one token each. ``mask`` hides the padding of shorter ones."""

    start: int
    end: int
    blocks: torch.Tensor  # the tables one after another, each padded to the longest
    length: int
    mask: torch.Tensor | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptChunk:
    """Rows ``start:end`` of the flat batch: consecutive tokens of one request, causal among themselves."""

    start: int
    end: int
    blocks: torch.Tensor
    length: int
    mask: torch.Tensor | None  # None when the chunk begins the request: plain causal


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLayout:
    cache: PagedCache
    slots: torch.Tensor
    decodes: tuple[DecodeGroup, ...]
    chunks: tuple[PromptChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatBatch:
    """One step as the model sees it: token ids and positions in one row, and where logits are wanted."""

    input_ids: torch.Tensor  # (1, tokens)
    positions: torch.Tensor  # (1, tokens)
    last_rows: torch.Tensor  # rows of the emitting segments, in the order of ``segments``
    first_rows: dict[str, int]  # sequence -> the row at which its segment begins
    layout: StepLayout


def flat_batch(
    segments: Sequence[Segment], pool: BlockPool, cache: PagedCache, dtype: torch.dtype
) -> FlatBatch:
    """Lay the segments out: single tokens first, shortest table first, then the longer pieces."""
    order = sorted(
        segments,
        key=lambda s: (s.count > 1, len(pool.table(s.running.request)) if s.count == 1 else 0),
    )
    ids: list[int] = []
    positions: list[int] = []
    slots: list[int] = []
    first_row: dict[str, int] = {}
    for segment in order:
        first_row[segment.running.request] = len(ids)
        ids += segment.token_ids
        span = range(segment.start, segment.start + segment.count)
        positions += span
        table = pool.table(segment.running.request)
        size = cache.block_tokens
        slots += [table[at // size] * size + at % size for at in span]
    singles = [s for s in order if s.count == 1]
    chunks = [_chunk(s, first_row[s.running.request], pool, dtype) for s in order if s.count > 1]
    rows = [first_row[s.running.request] + s.count - 1 for s in segments if s.emits]
    return FlatBatch(
        input_ids=torch.tensor([ids]),
        positions=torch.tensor([positions]),
        last_rows=torch.tensor(rows, dtype=torch.long),
        first_rows=first_row,
        layout=StepLayout(
            cache=cache,
            slots=torch.tensor(slots),
            decodes=tuple(_decode_groups(singles, pool, dtype)),
            chunks=tuple(chunks),
        ),
    )


def _decode_groups(
    singles: Sequence[Segment], pool: BlockPool, dtype: torch.dtype
) -> list[DecodeGroup]:
    groups: list[DecodeGroup] = []
    start = 0
    while start < len(singles):
        limit = GROUP_RATIO * _blocks(singles[start], pool) + GROUP_SLACK
        end = start + 1
        while end < len(singles) and _blocks(singles[end], pool) <= limit:
            end += 1
        groups.append(_decode_group(singles[start:end], start, pool, dtype))
        start = end
    return groups


def _decode_group(
    members: Sequence[Segment], start: int, pool: BlockPool, dtype: torch.dtype
) -> DecodeGroup:
    contexts = [s.start + 1 for s in members]
    width = max(_blocks(s, pool) for s in members)
    length = max(contexts)
    table: list[int] = []
    for segment in members:
        own = list(pool.table(segment.running.request))[:width]
        table += own + [own[0]] * (width - len(own))  # padding is masked; any block will do
    mask = None
    if min(contexts) != length:
        hidden = torch.arange(length) >= torch.tensor(contexts)[:, None]
        mask = torch.zeros(len(members), 1, 1, length, dtype=dtype)
        mask.masked_fill_(hidden[:, None, None, :], float("-inf"))
    return DecodeGroup(
        start=start, end=start + len(members), blocks=torch.tensor(table), length=length, mask=mask
    )


def _chunk(segment: Segment, start: int, pool: BlockPool, dtype: torch.dtype) -> PromptChunk:
    length = segment.start + segment.count
    mask = None
    if segment.start:
        hidden = torch.ones(segment.count, length, dtype=torch.bool).triu(segment.start + 1)
        mask = torch.zeros(segment.count, length, dtype=dtype).masked_fill_(hidden, float("-inf"))
    table = list(pool.table(segment.running.request))[: pool.blocks_for(length)]
    return PromptChunk(
        start=start,
        end=start + segment.count,
        blocks=torch.tensor(table),
        length=length,
        mask=mask,
    )


def _blocks(segment: Segment, pool: BlockPool) -> int:
    return pool.blocks_for(segment.start + segment.count)
