"""A gated short convolution instead of attention: it keeps the last columns only, no recurrent state.

Source: LFM2 (arXiv 2511.23404); layout of transformers' ``Lfm2ShortConv``.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers import recurrence
from assay.analysis.perfmodel.mixers.mixer import StatePart
from assay.analysis.perfmodel.tensors import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortConvolution:
    """``width`` channels with ``kernel`` taps between a projection to three gates and one back."""

    width: int
    kernel: int
    bias: bool = False

    @property
    def kind(self) -> str:
        return "short_convolution"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        rows = 3 * self.width
        return (
            Tensor(
                module="conv.in_proj", rows=rows, columns=d_model, bias=rows if self.bias else 0
            ),
            recurrence.kernel_tensor(
                "conv.conv", channels=self.width, kernel=self.kernel, bias=self.bias
            ),
            Tensor(
                module="conv.out_proj",
                rows=d_model,
                columns=self.width,
                bias=d_model if self.bias else 0,
            ),
        )

    def state(self) -> tuple[StatePart, ...]:
        return self.reads()

    def reads(self) -> tuple[StatePart, ...]:
        return (
            recurrence.convolution(
                "short_convolution_columns", channels=self.width, kernel=self.kernel
            ),
        )
