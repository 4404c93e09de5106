"""Work of one forward step by operator: FLOPs, and bytes of weights, state and activations.

A step runs sequences side by side, each with ``new`` tokens over ``stored`` ones: decode has one new token,
prefill many. One multiply-add is 2 FLOP. ``useful`` FLOPs count causal pairs, ``executed`` ones the full
rectangle that a kernel computes unless it skips. Norms, rotary embedding, activation functions, softmax and
sampling are left out of the FLOPs and named in ``NOT_COUNTED``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.perfmodel.precision import dtype_bytes
from assay.analysis.perfmodel.state import kv_bytes_per_token
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import WeightFormats, WeightGroup, weight_groups

NOT_COUNTED = (
    "FLOPs of norms, rotary embedding, activation functions and softmax",
    "sampling and stop checks",
    "launch, synchronisation, scheduling and host time (they enter estimates, never bounds)",
    "waiting of dependent operators on one another, and of requests in a queue",
    "communication between devices: one device is modelled",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceStep:
    """What one sequence does in a step: ``new`` tokens run over ``stored`` tokens in its cache."""

    new: int
    stored: int

    @property
    def useful_pairs(self) -> int:
        """Causal query-key pairs: U H + U (U + 1) / 2."""
        return self.new * self.stored + self.new * (self.new + 1) // 2

    @property
    def executed_pairs(self) -> int:
        """Pairs of the full rectangle: U (H + U)."""
        return self.new * (self.stored + self.new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One serial stage of the step, over all layers that have it.

    Bytes are at the memory level beyond the caches: each weight and each stored element once;
    ``activation_bytes`` are inputs and outputs, which a cache may hold.
    """

    name: str
    kind: str  # matmul | attention | lookup
    calls: int
    rows: int
    useful_flops: int
    executed_flops: int
    weight_bytes: int
    state_read_bytes: int
    state_write_bytes: int
    activation_bytes: int

    @property
    def bytes(self) -> int:
        """Weights and state: the traffic that no cache between steps can save."""
        return self.weight_bytes + self.state_read_bytes + self.state_write_bytes


def decode_sequences(*, batch: int, context: int) -> list[SequenceStep]:
    """``batch`` sequences, each one new token over ``context`` stored ones."""
    return [SequenceStep(new=1, stored=context)] * batch


def step_operators(
    structure: Structure,
    sequences: Sequence[SequenceStep],
    *,
    formats: WeightFormats,
    kv_dtype: str,
    activation_dtype: str,
    sampled: int,
) -> list[Operator]:
    """The operators of one step in serial order; the output head runs on ``sampled`` rows only."""
    rows = sum(sequence.new for sequence in sequences)
    width = dtype_bytes(activation_dtype, field="activation dtype")
    groups = {group.name: group for group in weight_groups(structure)}
    operators = [_lookup(structure, groups["embedding"], rows=rows, formats=formats, width=width)]
    for name in ("q_proj", "k_proj", "v_proj"):
        operators.append(_matmul(groups, name, rows=rows, formats=formats, width=width))
    operators.append(_attention(structure, sequences, kv_dtype=kv_dtype, width=width))
    rest = ("o_proj", *(("gate_proj",) if structure.gated else ()), "up_proj", "down_proj")
    for name in rest:
        operators.append(_matmul(groups, name, rows=rows, formats=formats, width=width))
    if sampled:  # a chunk that ends no prompt never touches the head
        head = groups["embedding"] if structure.tied else groups["lm_head"]
        operators.append(
            _projection("head", head, bias=None, rows=sampled, formats=formats, width=width)
        )
    return operators


def total_useful_flops(operators: Sequence[Operator]) -> int:
    return sum(operator.useful_flops for operator in operators)


def total_executed_flops(operators: Sequence[Operator]) -> int:
    return sum(operator.executed_flops for operator in operators)


def total_bytes(operators: Sequence[Operator]) -> int:
    """Weights and state of the step; activations stand apart."""
    return sum(operator.bytes for operator in operators)


def _matmul(
    groups: dict[str, WeightGroup], name: str, *, rows: int, formats: WeightFormats, width: int
) -> Operator:
    bias = groups.get(f"{name}.bias")
    return _projection(name, groups[name], bias=bias, rows=rows, formats=formats, width=width)


def _projection(
    name: str,
    group: WeightGroup,
    *,
    bias: WeightGroup | None,
    rows: int,
    formats: WeightFormats,
    width: int,
) -> Operator:
    """rows x K times K x N: 2 rows K N FLOP, the weights once, K + N activations a row."""
    flops = 2 * rows * group.rows * group.columns * group.count
    return Operator(
        name=name,
        kind="matmul",
        calls=group.count,
        rows=rows,
        useful_flops=flops,
        executed_flops=flops,
        weight_bytes=formats.bytes_of(group) + (formats.bytes_of(bias) if bias else 0),
        state_read_bytes=0,
        state_write_bytes=0,
        activation_bytes=rows * (group.rows + group.columns) * group.count * width,
    )


def _attention(
    structure: Structure, sequences: Sequence[SequenceStep], *, kv_dtype: str, width: int
) -> Operator:
    """Scores and weighted sum: 4 h d_head FLOP a pair and layer; K and V of the stored tokens read once.

    With grouped heads the unique K and V elements count, not one read per query head.
    """
    per_pair = 4 * structure.layers * structure.q_width
    per_token = kv_bytes_per_token(structure, kv_dtype=kv_dtype)
    rows = sum(sequence.new for sequence in sequences)
    return Operator(
        name="attention",
        kind="attention",
        calls=structure.layers * len(sequences),
        rows=rows,
        useful_flops=per_pair * sum(s.useful_pairs for s in sequences),
        executed_flops=per_pair * sum(s.executed_pairs for s in sequences),
        weight_bytes=0,
        state_read_bytes=per_token * sum(s.stored for s in sequences),
        state_write_bytes=per_token * rows,
        activation_bytes=2 * rows * structure.q_width * structure.layers * width,
    )


def _lookup(
    structure: Structure, group: WeightGroup, *, rows: int, formats: WeightFormats, width: int
) -> Operator:
    """Embedding rows of the new tokens. A tied table is read whole by the head and counts there."""
    distinct = min(rows, structure.vocabulary)
    table = formats.bytes_of(group)
    return Operator(
        name="embedding",
        kind="lookup",
        calls=1,
        rows=rows,
        useful_flops=0,
        executed_flops=0,
        weight_bytes=0 if structure.tied else table * distinct // structure.vocabulary,
        state_read_bytes=0,
        state_write_bytes=0,
        activation_bytes=rows * structure.d_model * width,
    )
