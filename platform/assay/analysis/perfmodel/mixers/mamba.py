"""Mamba (the first form): every inner channel keeps ``d_state`` elements, with input-dependent steps.

Per token and element: the input's product and the reading, 2 FLOP each. Source: Mamba (arXiv 2312.00752);
layout as in Jamba, which norms the steps, B and C.
"""

from dataclasses import dataclass

from assay.analysis.perfmodel.mixers import recurrence
from assay.analysis.perfmodel.mixers.mixer import StatePart
from assay.analysis.perfmodel.tensors import Tensor, TensorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba:
    """``inner`` channels, ``d_state`` elements each, steps through a rank of ``step_rank``."""

    inner: int
    d_state: int
    step_rank: int
    kernel: int
    convolution_bias: bool = True
    projection_bias: bool = False
    inner_norms: bool = False

    @property
    def kind(self) -> str:
        return "mamba"

    def tensors(self, d_model: int) -> tuple[Tensor, ...]:
        biased = self.projection_bias
        norms = (("dt", self.step_rank), ("b", self.d_state), ("c", self.d_state))
        return (
            _matrix("in_proj", 2 * self.inner, d_model, bias=2 * self.inner if biased else 0),
            recurrence.kernel_tensor(
                "mamba.conv1d", channels=self.inner, kernel=self.kernel, bias=self.convolution_bias
            ),
            _matrix("x_proj", self.step_rank + 2 * self.d_state, self.inner),
            _matrix("dt_proj", self.inner, self.step_rank, bias=self.inner),
            Tensor(
                module="mamba.A_log",
                rows=self.inner,
                columns=self.d_state,
                kind=TensorKind.VECTOR,
            ),
            recurrence.vector("mamba.D", self.inner),
            *(
                recurrence.vector(f"mamba.{name}_layernorm", width)
                for name, width in (norms if self.inner_norms else ())
            ),
            _matrix("out_proj", d_model, self.inner, bias=d_model if biased else 0),
        )

    def state(self) -> tuple[StatePart, ...]:
        return self.reads()

    def reads(self) -> tuple[StatePart, ...]:
        return (
            recurrence.convolution("mamba_convolution", channels=self.inner, kernel=self.kernel),
            recurrence.recurrent(
                "mamba_state",
                elements=self.inner * self.d_state,
                flops_per_element=4,
                activations=2 * self.inner,
            ),
        )


def _matrix(name: str, rows: int, columns: int, *, bias: int = 0) -> Tensor:
    return Tensor(module=f"mamba.{name}", rows=rows, columns=columns, bias=bias)
