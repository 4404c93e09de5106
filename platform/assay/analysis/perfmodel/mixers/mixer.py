"""What every way of mixing tokens must say of itself: its weights, what it keeps, and the work of a step.

A mixer is attention over stored tokens, or a recurrence over a state of constant size. Adding one is one
module here with one frozen dataclass, and a reader that makes it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from assay.analysis.perfmodel.mixers.span import (
    Span,
    attended_pairs,
    stored_attended,
    visible_pairs,
)
from assay.analysis.perfmodel.tensors import Tensor


class StoredAs(StrEnum):
    """Which declared element type a part of the state has; each is resolved on its own."""

    KV = "kv"
    RECURRENT = "recurrent"
    CONVOLUTION = "convolution"
    INDEX = "index"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePart:
    """State that one layer keeps for one sequence, as functions of its length S; sizes in elements.

    M(S) = ``constant`` + ``per_token`` x min(S, ``kept_tokens``). Q(S) reads ``constant`` + ``per_token`` x
    the stored tokens that a new one attends to under ``span``, at most ``read_tokens``. F(S) =
    ``update_flops`` + ``flops_per_attended`` x the attended tokens, for one new token. ``None`` as a cap
    means no cap. ``extra_bytes_per_token`` are bytes beside the elements (scales). Source: chapter 2.8.4.

    A compressed state may also be expanded first: ``expanded_flops_per_attended`` a pair and
    ``expansion_flops`` for each stored token; the cheaper way counts. ``stage`` names the operator,
    ``activations`` are the elements that go in and out of it for each new token.

    A recurrence over several tokens at once runs by blocks of ``block``: kernels execute
    ``flops_per_block_pair`` for every pair of tokens of a block beside the work on the state.
    """

    kind: str
    stored_as: StoredAs
    per_token: int = 0
    kept_tokens: int | None = None
    read_tokens: int | None = None
    constant: int = 0
    extra_bytes_per_token: int = 0
    flops_per_attended: int = 0
    update_flops: int = 0
    span: Span = Span.FULL
    expanded_flops_per_attended: int | None = None
    expansion_flops: int = 0
    stage: str = "attention"
    activations: int = 0
    block: int | None = None
    flops_per_block_pair: int = 0

    def kept(self, tokens: int) -> int:
        """Tokens whose entries are held after ``tokens``; a chunk holds at most one whole chunk."""
        return tokens if self.kept_tokens is None else min(tokens, self.kept_tokens)

    def read(self, stored: int) -> int:
        """Stored tokens that a decode step over ``stored`` of them reads."""
        return stored_attended(self.span, self.read_tokens, stored)

    def useful_flops(self, *, new: int, stored: int) -> int:
        """FLOPs of the pairs that count, for ``new`` tokens over ``stored`` ones, the cheaper way."""
        pairs = attended_pairs(self.span, self.read_tokens, new=new, stored=stored)
        return self._flops(pairs, new=new, stored=stored)

    def executed_flops(self, *, new: int, stored: int) -> int:
        """FLOPs of the rectangle of visible tokens that a kernel computes unless it skips."""
        pairs = visible_pairs(self.span, self.read_tokens, new=new, stored=stored)
        return self._flops(pairs, new=new, stored=stored) + self._in_blocks(new)

    def form(self, *, new: int, stored: int) -> str | None:
        """Which of two equal forms runs for this many new tokens; None where there is one form."""
        if self.block is not None:
            return "token by token" if new == 1 else f"blocks of {self.block}"
        if self.expanded_flops_per_attended is None:
            return None
        pairs = attended_pairs(self.span, self.read_tokens, new=new, stored=stored)
        direct, expanded = self._direct(pairs, new=new), self._expanded(pairs, stored=stored)
        return "absorbed" if direct <= expanded else "expanded"

    def _flops(self, pairs: int, *, new: int, stored: int) -> int:
        direct = self._direct(pairs, new=new)
        if self.expanded_flops_per_attended is None:
            return direct
        return min(direct, self._expanded(pairs, stored=stored))

    def _in_blocks(self, new: int) -> int:
        """FLOPs of the squares inside the blocks; a single token has none."""
        if self.block is None or new == 1:
            return 0
        whole, rest = divmod(new, self.block)
        return (whole * self.block**2 + rest**2) * self.flops_per_block_pair

    def _direct(self, pairs: int, *, new: int) -> int:
        return pairs * self.flops_per_attended + new * self.update_flops

    def _expanded(self, pairs: int, *, stored: int) -> int:
        return pairs * (self.expanded_flops_per_attended or 0) + stored * self.expansion_flops


class Mixer(Protocol):
    """One layer's way of mixing tokens. ``kind`` is the term for it in tables and pages."""

    @property
    def kind(self) -> str: ...

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        """The layer's weights, the last matrix being the one that runs after the mixing.

        Its norms over d_model are counted by the layer.
        """
        ...

    def state(self) -> tuple[StatePart, ...]:
        """What it keeps for one sequence; empty when it reads another layer's state."""
        ...

    def reads(self) -> tuple[StatePart, ...]:
        """What one step reads and computes on, its own or another layer's."""
        ...
