"""A decoder's attention to an encoder's output: queries and output projection run with every token.

K and V are made once from the source and their size follows its length, which is no length of the decoder:
they are named as not modelled and are no state here.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers.mixer import StatePart
from assay.analysis.perfmodel.tensors import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttention:
    """``h`` query heads of ``d_head``."""

    h: int
    d_head: int

    @property
    def kind(self) -> str:
        return "cross_attention"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        width = self.h * self.d_head
        return (
            Tensor(
                module="cross_attn.q", rows=width, columns=d_model, operator="cross_attention_q"
            ),
            Tensor(
                module="cross_attn.o", rows=d_model, columns=width, operator="cross_attention_o"
            ),
        )

    def state(self) -> tuple[StatePart, ...]:
        return ()

    def reads(self) -> tuple[StatePart, ...]:
        return ()
