"""The next token of each request from its logits, with a random generator of the request's own.

Order, as in transformers: repetition penalty, temperature, top-k, top-p, draw. A request draws from its own
generator only, once per token, so its answer does not depend on who shares the batch.
"""

from collections.abc import Sequence

import torch

from runners.engines.torch.calls import Sampling
from runners.engines.torch.scheduler import Running


class Sampler:
    """Keeps one generator per request from its first drawn token until ``forget``."""

    def __init__(self) -> None:
        self._generators: dict[str, torch.Generator] = {}

    def next_tokens(self, entries: Sequence[Running], logits: torch.Tensor) -> list[int]:
        """One token per row of ``logits`` (rows x vocabulary). Greedy rows take the first maximum."""
        chosen: list[int] = logits.argmax(dim=-1).tolist()
        for row, entry in enumerate(entries):
            sampling = entry.call.sampling
            if sampling.greedy and sampling.repetition_penalty == 1.0:
                continue
            scores = penalised(logits[row].float(), entry.tokens, sampling.repetition_penalty)
            chosen[row] = (
                int(scores.argmax())
                if sampling.greedy
                else self._draw(entry.request, sampling, scores)
            )
        return chosen

    def forget(self, request: str) -> None:
        self._generators.pop(request, None)

    def _draw(self, request: str, sampling: Sampling, scores: torch.Tensor) -> int:
        generator = self._generators.get(request)
        if generator is None:
            generator = torch.Generator().manual_seed(sampling.seed)
            self._generators[request] = generator
        probabilities = distribution(scores, sampling)
        return int(torch.multinomial(probabilities, 1, generator=generator))


def penalised(scores: torch.Tensor, tokens: Sequence[int], penalty: float) -> torch.Tensor:
    """Scores of tokens already seen: divided by the penalty where positive, multiplied where negative."""
    if penalty == 1.0:
        return scores
    seen = torch.tensor(sorted(set(tokens)))
    values = scores[seen]
    scores = scores.clone()
    scores[seen] = torch.where(values > 0, values / penalty, values * penalty)
    return scores


def distribution(scores: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Probabilities after temperature, top-k and top-p; they sum to 1.

    top-p keeps the most likely tokens up to and including the one that takes their sum to ``top_p``.
    """
    scores = scores / sampling.temperature
    if 0 < sampling.top_k < scores.numel():
        threshold = scores.topk(sampling.top_k).values[-1]
        scores = scores.masked_fill(scores < threshold, float("-inf"))
    probabilities = scores.softmax(dim=-1)
    if sampling.top_p < 1.0:
        ordered, index = probabilities.sort(descending=True, stable=True)
        before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.masked_fill(before >= sampling.top_p, 0.0)
        probabilities = torch.zeros_like(probabilities).scatter_(0, index, ordered)
        probabilities /= probabilities.sum()
    return probabilities
