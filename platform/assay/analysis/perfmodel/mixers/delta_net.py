"""Gated delta net: a matrix of d_k x d_v for each value head, corrected and decayed by every token.

Per token and element of the state: reading S k, the rank-one correction and reading S q, 2 FLOP each; the
decay is no multiply-add and is left out. Prompts run by blocks of 64 (the kernels' own choice), with five
products of the block's tokens with one another: k k, q k, and the resulting square times v, k and v.
Source: Gated DeltaNet (arXiv 2412.06464); layout as in Qwen3-Next.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers import recurrence
from assay.analysis.perfmodel.mixers.mixer import StatePart
from assay.analysis.perfmodel.tensors import Tensor

_BLOCK = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDeltaNet:
    """``h_k`` key heads of ``d_k``, ``h_v`` value heads of ``d_v``, a convolution over q, k and v.

    ``inputs`` names the input projections: qkvz and ba in one matrix each, or four of their own.
    """

    h_k: int
    h_v: int
    d_k: int
    d_v: int
    kernel: int
    inputs: tuple[str, ...] = ("in_proj_qkvz", "in_proj_ba")

    @property
    def kind(self) -> str:
        return "gated_delta_net"

    @property
    def channels(self) -> int:
        return 2 * self.h_k * self.d_k + self.h_v * self.d_v

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        values = self.h_v * self.d_v
        widths = (
            (self.channels + values, 2 * self.h_v)
            if len(self.inputs) == 2
            else (self.channels, values, self.h_v, self.h_v)
        )
        return (
            *(
                Tensor(module=f"linear_attn.{name}", rows=rows, columns=d_model)
                for name, rows in zip(self.inputs, widths, strict=True)
            ),
            recurrence.kernel_tensor(
                "linear_attn.conv1d", channels=self.channels, kernel=self.kernel, bias=False
            ),
            recurrence.vector("linear_attn.dt_bias", self.h_v),
            recurrence.vector("linear_attn.A_log", self.h_v),
            recurrence.vector("linear_attn.norm", self.d_v),
            Tensor(module="linear_attn.out_proj", rows=d_model, columns=values),
        )

    def state(self) -> tuple[StatePart, ...]:
        return self.reads()

    def reads(self) -> tuple[StatePart, ...]:
        return (
            recurrence.convolution(
                "delta_net_convolution", channels=self.channels, kernel=self.kernel
            ),
            recurrence.recurrent(
                "delta_net_state",
                elements=self.h_v * self.d_k * self.d_v,
                flops_per_element=6,
                activations=self.channels + self.h_v * self.d_v,
                block=_BLOCK,
                flops_per_block_pair=2 * self.h_v * (3 * self.d_k + 2 * self.d_v),
            ),
        )
