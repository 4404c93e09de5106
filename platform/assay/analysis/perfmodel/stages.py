"""The stages of a layer, prepared once for a model and its formats, and run for any step.

A product with weights counts 2 rows K N FLOP, its weights once and K + N activations a row. Of routed
copies each row runs through the chosen ones, and the union of them is read. A mixing stage counts the
FLOPs of every layer that reads a state, and the unique elements of those that hold it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.analysis.perfmodel.laws import expected_experts
from assay.analysis.perfmodel.operators import Operator, SequenceStep
from assay.analysis.perfmodel.state import StateClass
from assay.analysis.perfmodel.tensors import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One step: each kind of sequence with how many there are.

    ``expert_rows``: tokens that reach the experts, more than ``rows`` where replicas share them.
    ``experts_touched``: distinct experts of a layer if they were counted; None is the expected union of
    independent uniform routing. ``width``: bytes of an activation element.
    """

    sequences: Sequence[tuple[SequenceStep, int]]
    width: int
    expert_rows: int
    experts_touched: float | None = None

    @property
    def rows(self) -> int:
        return sum(sequence.new * count for sequence, count in self.sequences)

    def total(self, of: Callable[[SequenceStep], int]) -> int:
        """``of`` summed over all sequences."""
        return sum(of(sequence) * count for sequence, count in self.sequences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A weight matrix that ``times`` layers have, ``size`` bytes in all of them."""

    name: str
    tensor: Tensor
    times: int
    size: int

    def operator(self, load: Load) -> Operator:
        return self.over(load, load.rows if self.tensor.chosen is None else load.expert_rows)

    def over(self, load: Load, rows: int) -> Operator:
        """The product over ``rows`` rows."""
        tensor = self.tensor
        runs = tensor.copies if tensor.chosen is None else tensor.chosen
        flops = round(2 * rows * tensor.rows * tensor.columns * runs * self.times)
        activations = rows * (tensor.rows + tensor.columns) * runs * self.times * load.width
        return Operator(
            name=self.name,
            kind="matmul",
            calls=self.times,
            rows=rows,
            useful_flops=flops,
            executed_flops=flops,
            weight_bytes=self._read(load, rows),
            state_read_bytes=0,
            state_write_bytes=0,
            activation_bytes=round(activations),
        )

    def _read(self, load: Load, rows: int) -> int:
        tensor = self.tensor
        if tensor.chosen is None:
            return self.size
        union = load.experts_touched
        if union is None:
            union = expected_experts(experts=tensor.copies, chosen=tensor.chosen, tokens=rows)
        return round(self.size * min(1.0, union / tensor.copies))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixing:
    """Work on one kind of state in the layers of one kind."""

    state: StateClass

    def operator(self, load: Load) -> Operator:
        state, part = self.state, self.state.part
        reading, total = state.reading_layers, load.total
        return Operator(
            name=part.stage,
            kind="attention" if part.per_token else "recurrence",
            calls=reading * sum(count for _, count in load.sequences),
            rows=load.rows,
            useful_flops=reading * total(lambda s: part.useful_flops(new=s.new, stored=s.stored)),
            executed_flops=reading
            * total(lambda s: part.executed_flops(new=s.new, stored=s.stored)),
            weight_bytes=0,
            # a new sequence has no state to read yet
            state_read_bytes=total(lambda s: state.read_bytes(s.stored) if s.stored else 0),
            state_write_bytes=total(lambda s: state.resident_bytes(s.new)),
            activation_bytes=reading * part.activations * load.rows * load.width,
            form=self._form(load),
        )

    def _form(self, load: Load) -> str | None:
        part = self.state.part
        found = [part.form(new=s.new, stored=s.stored) for s, _ in load.sequences]
        named = [form for form in dict.fromkeys(found) if form is not None]
        return " and ".join(named) or None


Stage = Projection | Mixing


def lookup(name: str, table: Tensor, *, rows: int, table_bytes: int, width: int) -> Operator:
    """Rows of a table for the new tokens, each distinct one once; ``table_bytes`` of 0 counts none.

    A tied embedding is read whole by the head and counts there.
    """
    return Operator(
        name=name,
        kind="lookup",
        calls=1,
        rows=rows,
        useful_flops=0,
        executed_flops=0,
        weight_bytes=table_bytes * min(rows, table.rows) // table.rows,
        state_read_bytes=0,
        state_write_bytes=0,
        activation_bytes=rows * table.columns * width,
    )


def sampling(*, rows: int, vocabulary: int) -> Operator:
    """Choosing tokens and checking stops: float32 logits of every row, written by the head and read again.

    No multiply-adds and no bytes of weights or state, so it adds nothing to a bound; with a large batch or
    vocabulary its activation bytes are what it costs.
    """
    return Operator(
        name="sampling",
        kind="sampling",
        calls=1,
        rows=rows,
        useful_flops=0,
        executed_flops=0,
        weight_bytes=0,
        state_read_bytes=0,
        state_write_bytes=0,
        activation_bytes=2 * rows * vocabulary * 4,
    )
