"""Kimi delta attention: a gated delta net whose decay is one factor for every key channel.

State and work per element are those of the gated delta net. Source: Kimi Linear (arXiv 2510.26692); layout of
transformers' ``kimi_linear``.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers import recurrence
from assay.analysis.perfmodel.mixers.mixer import StatePart
from assay.analysis.perfmodel.tensors import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDeltaAttention:
    """``h`` heads of ``d_head`` for q, k and v alike; forget and output gates of rank ``d_head``."""

    h: int
    d_head: int
    kernel: int

    @property
    def kind(self) -> str:
        return "kimi_delta_attention"

    @property
    def width(self) -> int:
        return self.h * self.d_head

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        width, rank = self.width, self.d_head
        inputs = [(name, width, d_model) for name in ("q_proj", "k_proj", "v_proj")]
        gates = [
            ("f_a_proj", rank, d_model), ("f_b_proj", width, rank), ("b_proj", self.h, d_model),
            ("g_a_proj", rank, d_model), ("g_b_proj", width, rank),
        ]  # fmt: skip
        return (
            *(_matrix(name, rows, columns) for name, rows, columns in (*inputs, *gates)),
            recurrence.kernel_tensor(
                "self_attn.conv1d", channels=3 * width, kernel=self.kernel, bias=False
            ),
            recurrence.vector("self_attn.dt_bias", width),
            recurrence.vector("self_attn.A_log", self.h),
            recurrence.vector("self_attn.o_norm", self.d_head),
            _matrix("o_proj", d_model, width),
        )

    def state(self) -> tuple[StatePart, ...]:
        return self.reads()

    def reads(self) -> tuple[StatePart, ...]:
        return (
            recurrence.convolution(
                "delta_net_convolution", channels=3 * self.width, kernel=self.kernel
            ),
            recurrence.recurrent(
                "delta_net_state",
                elements=self.h * self.d_head**2,
                flops_per_element=6,
                activations=4 * self.width,
            ),
        )


def _matrix(name: str, rows: int, columns: int) -> Tensor:
    return Tensor(module=f"self_attn.{name}", rows=rows, columns=columns)
