"""One weight tensor of a layer or of the whole model, by the name that its checkpoint gives it."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class TensorKind(StrEnum):
    """What a tensor is read for: a product with every row, a lookup of some rows, or element by element."""

    MATMUL = "matmul"
    TABLE = "table"
    VECTOR = "vector"


class Reading(StrEnum):
    """Which tokens read a tensor: all of them, or only those that a router sends to it."""

    ALL = "all"
    ROUTED = "routed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """``copies`` equal tensors of ``rows`` outputs x ``columns`` inputs; a vector has one row.

    ``module`` is the module's path inside its layer (``self_attn.q_proj``, ``mlp.experts.*.up_proj``) or
    in the whole model (``model.embed_tokens``); exclusion lists of quantization speak of it. ``bias``
    elements are counted with the tensor but never quantized. ``chosen`` of the copies are read for one
    token where a router picks them, a fraction on a rank that holds a share of them; None: all.
    ``operator`` names the stage of a step, else the module's last part does.
    """

    module: str
    rows: int
    columns: int
    kind: TensorKind = TensorKind.MATMUL
    copies: int = 1
    chosen: int | Fraction | None = None
    bias: int = 0
    operator: str = ""

    @property
    def reading(self) -> Reading:
        return Reading.ALL if self.chosen is None else Reading.ROUTED

    @property
    def stage(self) -> str:
        return self.operator or self.module.rpartition(".")[2]

    @property
    def elements(self) -> int:
        """Elements of all copies, biases apart."""
        return self.rows * self.columns * self.copies

    @property
    def parameters(self) -> int:
        """Elements and biases of all copies."""
        return self.elements + self.bias * self.copies

    @property
    def active_parameters(self) -> int:
        """Elements and biases of the copies that one token runs through."""
        return self.parameters * self._chosen // self.copies

    @property
    def _chosen(self) -> int | Fraction:
        return self.copies if self.chosen is None else self.chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTensor:
    """A tensor and the layers that have an equal one each; no layers: it lies outside."""

    tensor: Tensor
    layers: tuple[int, ...] = ()

    @property
    def times(self) -> int:
        """How often the tensor occurs, its copies apart."""
        return len(self.layers) or 1

    @property
    def parameters(self) -> int:
        return self.tensor.parameters * self.times

    @property
    def active_parameters(self) -> int:
        return self.tensor.active_parameters * self.times
