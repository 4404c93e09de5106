"""Which stored format each tensor has: rules from a declaration, the first that means a tensor decides."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import ceil
from typing import Protocol

from assay.analysis.perfmodel.precision import StoredFormat
from assay.analysis.perfmodel.quantization.module_names import is_choosing
from assay.analysis.perfmodel.tensors import PlacedTensor, Reading, Tensor, TensorKind


class Selection(Protocol):
    """Names of modules in some files' way of speaking."""

    def matched(self, tensor: Tensor, layer: int | None) -> Collection[int]:
        """Which copies of a tensor are meant, in a layer or (None) outside of all."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``stored`` for the tensors of a ``kind`` that ``names`` mean; no names: all of the kind."""

    stored: StoredFormat
    kind: Callable[[Tensor], bool]
    names: Selection | None = None

    def matched(self, tensor: Tensor, layer: int | None) -> Collection[int]:
        """Which copies of the tensor the rule decides on."""
        if not self.kind(tensor):
            return ()
        return range(tensor.copies) if self.names is None else self.names.matched(tensor, layer)


@dataclass(frozen=True, kw_only=True)
class WeightFormats:
    """Rules in their order; what none of them means, and every bias, is in ``rest``.

    ``label`` is the format of most projections.
    """

    label: str
    rest: StoredFormat
    rules: tuple[Rule, ...] = ()
    _known: dict[PlacedTensor, int] = field(default_factory=dict, compare=False, repr=False)

    def bytes_of(self, placed: PlacedTensor) -> int:
        """Bytes of the tensor with its copies in all its layers, scales and biases included."""
        if placed not in self._known:
            self._known[placed] = sum(self.bytes_by_format(placed).values())
        return self._known[placed]

    def bytes_by_format(self, placed: PlacedTensor) -> dict[str, int]:
        """The same by the name of the format; biases stand with ``rest``."""
        biases = ceil(placed.tensor.bias * placed.tensor.copies * placed.times * self.rest.bits / 8)
        found = {self.rest.name: biases} if biases else {}
        for stored, count in self.copies_by_format(placed).items():
            size = count * stored.tensor_bytes(placed.tensor.rows, placed.tensor.columns)
            found[stored.name] = found.get(stored.name, 0) + size
        return found

    def copies_by_format(self, placed: PlacedTensor) -> dict[StoredFormat, int]:
        """How many of the tensor's copies, over all its layers, are stored in each format."""
        found: dict[StoredFormat, int] = {}
        for layer in placed.layers or (None,):
            for stored, count in self._copies_in(placed.tensor, layer):
                if count:
                    found[stored] = found.get(stored, 0) + count
        return found

    def _copies_in(self, tensor: Tensor, layer: int | None) -> list[tuple[StoredFormat, int]]:
        left: Collection[int] = range(tensor.copies)
        found: list[tuple[StoredFormat, int]] = []
        for rule in self.rules:
            meant = rule.matched(tensor, layer)
            if not meant:
                continue
            if len(meant) == tensor.copies:
                return [*found, (rule.stored, len(left))]
            decided = set(left) & set(meant)
            found.append((rule.stored, len(decided)))
            left = set(left) - decided
        return [*found, (self.rest, len(left))]


def uniform(stored: StoredFormat) -> WeightFormats:
    """Every tensor in one format, as a dequantizing engine executes them."""
    return WeightFormats(label=stored.name, rest=stored)


def any_tensor(_: Tensor) -> bool:
    """Rules that name single tensors: vectors and tables as well."""
    return True


def any_matrix(tensor: Tensor) -> bool:
    """Rules that name modules: whatever a product is computed with, tables included."""
    return tensor.kind is not TensorKind.VECTOR


def linear(tensor: Tensor) -> bool:
    """What files call ``Linear``: products, the output head included, without routers and convolutions."""
    convolution = "conv" in tensor.module.rpartition(".")[2]
    return tensor.kind is TensorKind.MATMUL and not convolution and not is_choosing(tensor.module)


def layer_linear(tensor: Tensor) -> bool:
    """``linear`` without the output head, which most methods leave alone."""
    return linear(tensor) and tensor.module.rpartition(".")[2] != "lm_head"


def table(tensor: Tensor) -> bool:
    """What files call ``Embedding``."""
    return tensor.kind is TensorKind.TABLE


def routed(tensor: Tensor) -> bool:
    """The matrices of experts that a router chooses from."""
    return tensor.kind is TensorKind.MATMUL and tensor.reading is Reading.ROUTED
