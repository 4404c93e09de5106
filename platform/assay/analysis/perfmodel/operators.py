"""What a step runs: sequences side by side, and the serial stages (operators) with their FLOPs and bytes.

Decode has one new token a sequence, prefill many. One multiply-add is 2 FLOP. ``useful`` FLOPs count
causal pairs, ``executed`` ones the full rectangle that a kernel computes unless it skips.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


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
    ``activation_bytes`` are inputs and outputs, which a cache may hold. ``form`` names the one that was
    counted where an operator has two equal forms.
    """

    name: str
    kind: str  # matmul | attention | recurrence | lookup | sampling
    calls: int
    rows: int
    useful_flops: int
    executed_flops: int
    weight_bytes: int
    state_read_bytes: int
    state_write_bytes: int
    activation_bytes: int
    form: str | None = None

    @property
    def bytes(self) -> int:
        """Weights and state: the traffic that no cache between steps can save."""
        return self.weight_bytes + self.state_read_bytes + self.state_write_bytes

    @property
    def intensity(self) -> float | None:
        """Useful FLOP per byte of weights and state; None where none moves."""
        return self.useful_flops / self.bytes if self.bytes else None


def decode_sequences(*, batch: int, context: int) -> list[SequenceStep]:
    """``batch`` sequences, each one new token over ``context`` stored ones."""
    return [SequenceStep(new=1, stored=context)] * batch


def prompt_chunks(*, tokens: int, reused: int, chunk: int | None) -> list[SequenceStep]:
    """The steps of one prompt whose first ``reused`` tokens came from a cache, ``chunk`` new tokens at a
    time."""
    size = chunk or tokens
    return [
        SequenceStep(new=min(size, tokens - start), stored=start)
        for start in range(reused, tokens, size)
    ]


def total_useful_flops(operators: Sequence[Operator]) -> int:
    return sum(operator.useful_flops for operator in operators)


def total_executed_flops(operators: Sequence[Operator]) -> int:
    return sum(operator.executed_flops for operator in operators)


def total_bytes(operators: Sequence[Operator]) -> int:
    """Weights and state of the step; activations stand apart."""
    return sum(operator.bytes for operator in operators)


def merged(operators: Iterable[Operator]) -> list[Operator]:
    """One operator a stage, in order of first occurrence: the same stage of several layers."""
    found: dict[str, Operator] = {}
    for operator in operators:
        before = found.get(operator.name)
        found[operator.name] = operator if before is None else _sum(before, operator)
    return list(found.values())


def _sum(a: Operator, b: Operator) -> Operator:
    forms = [form for form in dict.fromkeys((a.form, b.form)) if form is not None]
    return replace(
        a,
        calls=a.calls + b.calls,
        useful_flops=a.useful_flops + b.useful_flops,
        executed_flops=a.executed_flops + b.executed_flops,
        weight_bytes=a.weight_bytes + b.weight_bytes,
        state_read_bytes=a.state_read_bytes + b.state_read_bytes,
        state_write_bytes=a.state_write_bytes + b.state_write_bytes,
        activation_bytes=a.activation_bytes + b.activation_bytes,
        form=" and ".join(forms) or None,
    )
