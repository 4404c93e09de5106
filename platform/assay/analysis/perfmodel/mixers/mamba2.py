"""Mamba-2: for each head a state of d_head x d_state, decayed by one scalar and fed by B, read by C.

Per token and element: the input's outer product and the reading, 2 FLOP each. Prompts run by blocks, with
C B and the resulting square times x inside each. Source: Mamba-2 (arXiv 2405.21060); layout as in
Nemotron-H and Falcon-H1.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers import recurrence
from assay.analysis.perfmodel.mixers.mixer import StatePart
from assay.analysis.perfmodel.tensors import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """``heads`` of ``d_head``, ``groups`` of B and C of ``d_state``; ``gated_norm`` before the output."""

    heads: int
    d_head: int
    d_state: int
    groups: int
    kernel: int
    convolution_bias: bool = True
    projection_bias: bool = False
    gated_norm: bool = True
    module: str = "mixer"
    block: int = 256

    @property
    def kind(self) -> str:
        return "mamba2"

    @property
    def inner(self) -> int:
        return self.heads * self.d_head

    @property
    def channels(self) -> int:
        return self.inner + 2 * self.groups * self.d_state

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        inputs = self.inner + self.channels + self.heads
        norm = (recurrence.vector(f"{self.module}.norm", self.inner),) if self.gated_norm else ()
        return (
            Tensor(
                module=f"{self.module}.in_proj",
                rows=inputs,
                columns=d_model,
                bias=inputs if self.projection_bias else 0,
            ),
            recurrence.kernel_tensor(
                f"{self.module}.conv1d",
                channels=self.channels,
                kernel=self.kernel,
                bias=self.convolution_bias,
            ),
            *(
                recurrence.vector(f"{self.module}.{name}", self.heads)
                for name in ("A_log", "D", "dt_bias")
            ),
            *norm,
            Tensor(
                module=f"{self.module}.out_proj",
                rows=d_model,
                columns=self.inner,
                bias=d_model if self.projection_bias else 0,
            ),
        )

    def state(self) -> tuple[StatePart, ...]:
        return self.reads()

    def reads(self) -> tuple[StatePart, ...]:
        return (
            recurrence.convolution(
                "mamba2_convolution", channels=self.channels, kernel=self.kernel
            ),
            recurrence.recurrent(
                "mamba2_state",
                elements=self.inner * self.d_state,
                flops_per_element=4,
                activations=self.channels + self.inner,
                block=self.block,
                flops_per_block_pair=2 * (self.groups * self.d_state + self.inner),
            ),
        )
