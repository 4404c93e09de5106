"""Vectors of texts: the mean of the last hidden state over all tokens of a text, of unit length.

The sum runs over the chunks of a prompt in float64, so that how a prompt was cut into steps does not show in
its vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from runners.engines.torch.scheduler import Segment

STATED = "mean of the last hidden state (after the final norm) over all tokens, L2-normalised"


@dataclass(slots=True)
class Pooler:
    """Running sums of hidden states by sequence."""

    sums: dict[str, torch.Tensor] = field(default_factory=dict)

    def add(
        self, segments: Sequence[Segment], first_rows: dict[str, int], hidden: torch.Tensor
    ) -> None:
        """Take (tokens, hidden size) of one step; a sequence that starts over forgets what it had."""
        for segment in segments:
            if segment.running.call.pooled_into is None:
                continue
            name, row = segment.running.request, first_rows[segment.running.request]
            part = hidden[row : row + segment.count].to(torch.float64).sum(dim=0)
            before = self.sums.get(name) if segment.start else None
            self.sums[name] = part if before is None else before + part

    def vector(self, sequence: str) -> list[float]:
        """The sequence's vector; its length is the model's hidden size. Dividing by the count cancels out."""
        total = self.sums[sequence]
        return [float(value) for value in total / total.norm()]

    def forget(self, sequence: str) -> None:
        self.sums.pop(sequence, None)
