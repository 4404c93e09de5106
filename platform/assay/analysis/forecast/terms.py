"""A step's time as a sum of named terms: an amount that follows from the shape, times one parameter.

The sum is linear in its parameters, so that the forecast and a fit of them read the same table. A parameter
is an effective figure of this machine and this software: no physical peak, and none of them scales the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.analysis.perfmodel.operators import Operator, SequenceStep
from assay.analysis.perfmodel.precision import dtype_bytes
from assay.analysis.perfmodel.quantization.weight_formats import WeightFormats
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.work import step_operators

STEP_OVERHEAD = "step_overhead_s"
SAMPLED_ROW = "sampled_row_s"
LAYER_LAUNCH = "layer_launch_s"
ELEMENTWISE = "elementwise_s_per_byte"
STATE_COPY = "state_copy_s_per_byte"
STATE_READ = "state_read_s_per_byte"
STATE_VIEW = "state_view_s_per_byte"
PROMPT_ATTENTION = "prompt_attention_s_per_flop"
PROMPT_MASK = "prompt_mask_s_per_flop"
MATMUL = "matmul_s_per_byte.rows_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """How the engine holds and computes the model: formats as executed, not as stored on disk."""

    structure: Structure
    formats: WeightFormats
    dtype: str
    kv_dtype: str

    def operators(self, sequences: Sequence[SequenceStep], *, sampled: int) -> list[Operator]:
        return step_operators(
            self.structure,
            sequences,
            formats=self.formats,
            kv_dtype=self.kv_dtype,
            activation_dtype=self.dtype,
            sampled=sampled,
        )


def step_terms(
    executed: Executed, sequences: Sequence[SequenceStep], *, sampled: int, knots: Sequence[int]
) -> dict[str, float]:
    """Parameter name -> amount, for one step over ``sequences`` of which ``sampled`` rows are sampled.

    * ``matmul_s_per_byte.rows_N``: weight bytes, shared out between the two measured row counts around a
      matrix's rows (linear in rows); beyond the largest one they grow with the rows.
    * ``layer_launch_s``, ``step_overhead_s``, ``sampled_row_s``: layers, 1, sampled rows.
    * ``elementwise_s_per_byte``: rows x layers x d_model x element size.
    * ``state_copy_s_per_byte``: stored K/V copied out of its blocks, read and written: 2 bytes each.
    * ``state_read_s_per_byte``, ``state_view_s_per_byte``: stored bytes that decoding sequences attend to.
    * ``prompt_attention_s_per_flop``: executed attention FLOPs of prompts; ``prompt_mask_s_per_flop``: those
      of chunks over a stored beginning, which run with an explicit mask.
    """
    layers, rows = len(executed.structure.layers), sum(s.new for s in sequences)
    element = dtype_bytes(executed.dtype, field="dtype")
    amounts: dict[str, float] = {
        LAYER_LAUNCH: layers,
        STEP_OVERHEAD: 1,
        SAMPLED_ROW: sampled,
        ELEMENTWISE: rows * layers * executed.structure.d_model * element,
    }
    for operator in executed.operators(sequences, sampled=sampled):
        if operator.kind == "matmul":
            for knot, share in row_shares(operator.rows, knots):
                _add(amounts, f"{MATMUL}{knot}", operator.weight_bytes * share)
    _add_attention(amounts, executed, sequences)
    return amounts


def row_shares(rows: int, knots: Sequence[int]) -> list[tuple[int, float]]:
    """The measured row counts whose figures make that of ``rows``, with their shares.

    Linear between two counts, as fixed traffic plus work by the row is; the last one grows with the rows.
    """
    if rows <= knots[0]:
        return [(knots[0], 1.0)]
    for low, high in pairwise(knots):
        if rows <= high:
            share = (rows - low) / (high - low)
            return [(knot, part) for knot, part in ((low, 1 - share), (high, share)) if part]
    return [(knots[-1], rows / knots[-1])]


def _add_attention(
    amounts: dict[str, float], executed: Executed, sequences: Sequence[SequenceStep]
) -> None:
    decoding = _attention(executed, [s for s in sequences if s.new == 1])
    first = _attention(executed, [s for s in sequences if s.new > 1 and not s.stored])
    later = _attention(executed, [s for s in sequences if s.new > 1 and s.stored])
    everything = [*decoding, *first, *later]
    _add(amounts, STATE_COPY, 2 * sum(_attended(o) for o in everything))
    for name in (STATE_READ, STATE_VIEW):
        _add(amounts, name, sum(_attended(o) for o in decoding))
    _add(amounts, PROMPT_ATTENTION, sum(o.executed_flops for o in (*first, *later)))
    _add(amounts, PROMPT_MASK, sum(o.executed_flops for o in later))


def _attention(executed: Executed, sequences: Sequence[SequenceStep]) -> list[Operator]:
    """What works on stored state: attention, and recurrent layers."""
    if not sequences:
        return []
    found = executed.operators(sequences, sampled=0)
    return [o for o in found if o.kind in ("attention", "recurrence")]


def _attended(operator: Operator) -> int:
    return operator.state_read_bytes + operator.state_write_bytes


def _add(amounts: dict[str, float], name: str, amount: float) -> None:
    amounts[name] = amounts.get(name, 0.0) + amount
