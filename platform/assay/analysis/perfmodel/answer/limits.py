"""Where a decode step changes sides: the batch at the ridge and the context at which state outweighs
weights."""

from collections.abc import Callable
from typing import Any

from assay.analysis.perfmodel.ledger import crossover_tokens
from assay.analysis.perfmodel.operators import Operator
from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.analysis.perfmodel.state import StateClass
from assay.analysis.perfmodel.work import PreparedModel

_LARGEST = 2**24


def kv_crossover(
    operators: list[Operator], classes: list[StateClass], *, batch: int
) -> float | None:
    """Context at which a step of ``batch`` sequences reads as many bytes of state as of weights; None:
    never.

    Weights are those that this batch reads: of experts the expected union.
    """
    weights = sum(operator.weight_bytes for operator in operators)
    return crossover_tokens(classes, weight_bytes=weights, batch=batch)


def ridge_batch(prepared: PreparedModel, roofs: DeviceRoofs) -> dict[str, Any]:
    """Smallest batch at which all products with weights together reach the ridge, in two counts.

    By weights alone (an approximation that holds far below the ridge), and with activations restored,
    which near the ridge no longer stay small. None where no batch reaches it. It is not an optimal batch.
    """

    def intensity(batch: int, size: Callable[[Operator], int]) -> float:
        load = prepared.decode_load(batch=batch, context=0)
        products = [o for o in prepared.operators(load, sampled=batch) if o.kind == "matmul"]
        return sum(o.useful_flops for o in products) / sum(size(o) for o in products)

    return {
        "ridge_flops_per_byte": roofs.ridge,
        "memory_level": roofs.memory_level,
        "batch_weights_only": _smallest(
            lambda batch: intensity(batch, lambda o: o.weight_bytes) >= roofs.ridge
        ),
        "batch_with_activations": _smallest(
            lambda batch: (
                intensity(batch, lambda o: o.weight_bytes + o.activation_bytes) >= roofs.ridge
            )
        ),
        "label": "turning point of ideal traffic, not an optimal batch",
    }


def _smallest(reached: Callable[[int], bool]) -> int | None:
    """The smallest batch from which ``reached`` holds; it must stay true once it is."""
    if not reached(_LARGEST):
        return None
    low, high = 0, 1
    while not reached(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
