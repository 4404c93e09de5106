"""Lightning attention: linear attention with a fixed decay, one d x d matrix of k v products for each head.

Per token and element: adding k v and reading it with q, 2 FLOP each. Prompts run by blocks of 256 (the
kernel's own choice), with q k and the resulting square times v inside each. Source: MiniMax-01 (arXiv
2501.08313) section 2.2.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers import recurrence
from assay.analysis.perfmodel.mixers.mixer import StatePart
from assay.analysis.perfmodel.tensors import Tensor

_BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class LightningAttention:
    """``h`` heads of ``d_head`` for q, k and v alike, an output gate and a norm over all heads."""

    h: int
    d_head: int

    @property
    def kind(self) -> str:
        return "lightning_attention"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        width = self.h * self.d_head
        return (
            Tensor(module="self_attn.qkv_proj", rows=3 * width, columns=d_model),
            Tensor(module="self_attn.output_gate", rows=width, columns=d_model),
            recurrence.vector("self_attn.norm", width),
            Tensor(module="self_attn.out_proj", rows=d_model, columns=width),
        )

    def state(self) -> tuple[StatePart, ...]:
        return self.reads()

    def reads(self) -> tuple[StatePart, ...]:
        return (
            recurrence.recurrent(
                "lightning_state",
                elements=self.h * self.d_head**2,
                flops_per_element=4,
                activations=4 * self.h * self.d_head,
                block=_BLOCK,
                flops_per_block_pair=4 * self.h * self.d_head,
            ),
        )
