"""Runs the flat batch of a step through the model and takes the next tokens."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.profiler import record_function

from runners.engines.torch.kv_blocks import BlockPool
from runners.engines.torch.model import head_size
from runners.engines.torch.paged_cache import PagedCache, flat_batch
from runners.engines.torch.pooling import Pooler
from runners.engines.torch.sampling import Sampler
from runners.engines.torch.scheduler import Segment
from runners.engines.torch.settings import EngineSettings


class ModelRunner:
    def __init__(self, model: Any, settings: EngineSettings) -> None:
        config = model.config
        self._body = model.model
        self._head = model.lm_head
        self._dtype: torch.dtype = getattr(torch, settings.dtype)
        self._sampler = Sampler()
        self._pooler = Pooler()
        self.cache = PagedCache(
            layers=config.num_hidden_layers,
            blocks=settings.kv_blocks,
            block_tokens=settings.block_tokens,
            h_kv=config.num_key_value_heads,
            d_head=head_size(config),
            dtype=getattr(torch, settings.kv_dtype),
        )

    def run(self, segments: Sequence[Segment], pool: BlockPool) -> list[int]:
        logits = self.logits(segments, pool)
        emitting = [segment.running for segment in segments if segment.emits]
        return self._sampler.next_tokens(emitting, logits) if emitting else []

    def pooled(self, sequence: str) -> list[float]:
        """The vector of a sequence whose last token was computed."""
        return self._pooler.vector(sequence)

    def forget(self, request: str) -> None:
        self._sampler.forget(request)
        self._pooler.forget(request)

    @torch.inference_mode()
    def logits(self, segments: Sequence[Segment], pool: BlockPool) -> torch.Tensor:
        """(emitting segments, vocabulary): logits of last positions only, in the order of ``segments``."""
        batch = flat_batch(segments, pool, self.cache, self._dtype)
        with record_function(step_name(segments)):
            hidden = self._body(
                input_ids=batch.input_ids,
                position_ids=batch.positions,
                use_cache=False,
                step=batch.layout,
            ).last_hidden_state
            self._pooler.add(segments, batch.first_rows, hidden[0])
            if not len(batch.last_rows):
                return torch.empty(0)
            logits: torch.Tensor = self._head(hidden[0].index_select(0, batch.last_rows))
        return logits


def step_name(segments: Sequence[Segment]) -> str:
    """``step[decode=3 prefill=1 tokens=67 out=4]``: the batch's composition, for the trace."""
    decode = sum(s.phase == "decode" for s in segments)
    tokens = sum(s.count for s in segments)
    emits = sum(s.emits for s in segments)
    return f"step[decode={decode} prefill={len(segments) - decode} tokens={tokens} out={emits}]"
