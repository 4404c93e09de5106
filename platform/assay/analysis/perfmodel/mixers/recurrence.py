"""State of constant size: what recurrent mixers keep and how a short convolution before them counts.

A causal convolution over ``kernel`` columns keeps the last ``kernel`` - 1 of each channel (some engines hold
``kernel`` of them). A recurrent state is read and written once a step, whatever the length of the sequence.
"""

from assay.analysis.perfmodel.mixers.mixer import StatePart, StoredAs
from assay.analysis.perfmodel.tensors import Tensor, TensorKind


def convolution(kind: str, *, channels: int, kernel: int) -> StatePart:
    """Columns of a depthwise convolution: 2 FLOP a tap and channel."""
    return StatePart(
        kind=kind,
        stored_as=StoredAs.CONVOLUTION,
        constant=channels * (kernel - 1),
        update_flops=2 * kernel * channels,
        activations=2 * channels,
        stage="convolution",
    )


def recurrent(
    kind: str,
    *,
    elements: int,
    flops_per_element: int,
    activations: int,
    block: int | None = None,
    flops_per_block_pair: int = 0,
) -> StatePart:
    """A state of ``elements`` with ``flops_per_element`` multiply-add FLOPs for each new token.

    Prompts run by blocks, if at all: ``flops_per_block_pair`` for each pair of tokens of one ``block``.
    """
    return StatePart(
        kind=kind,
        stored_as=StoredAs.RECURRENT,
        constant=elements,
        update_flops=flops_per_element * elements,
        activations=activations,
        block=block,
        flops_per_block_pair=flops_per_block_pair,
        stage="recurrence",
    )


def kernel_tensor(module: str, *, channels: int, kernel: int, bias: bool) -> Tensor:
    """The convolution's taps, read element by element."""
    return Tensor(
        module=module,
        rows=channels,
        columns=kernel,
        kind=TensorKind.VECTOR,
        bias=channels if bias else 0,
    )


def vector(module: str, width: int) -> Tensor:
    return Tensor(module=module, rows=1, columns=width, kind=TensorKind.VECTOR)
