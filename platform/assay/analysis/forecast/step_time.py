"""How long one step takes on a measured machine: a bound, and a conditional estimate from named parameters.

The estimate is a serial, staged sum (``terms``). Its coefficients are effective figures of this machine and
this software, not physical peaks:

    T = matrices(rows) + head(sampled rows) + attention + element-wise + L x layer_launch
        + step_overhead + sampled x sampled_row
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.devices.machine import ZERO, Best, Interval
from assay.analysis.forecast.terms import Executed, step_terms
from assay.analysis.perfmodel.bounds import Bound, step_bound
from assay.analysis.perfmodel.operators import Operator, SequenceStep, decode_sequences
from assay.analysis.step_spread import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofs:
    """The two roofs of a bound and the memory level they hold for."""

    bandwidth: Best
    flops: Best

    def bound(self, operators: Sequence[Operator]) -> Bound:
        return step_bound(
            operators,
            peak_flops_per_s=self.flops.value,
            bandwidth_bytes_per_s=self.bandwidth.value,
            memory_level=self.bandwidth.memory_level,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Effective times of the machine, by parameter name; ``knots`` are the row counts of the matrices' curve.

    Without ``spread`` a range spans the parameters' own spreads. With it (a calibration's), the range is what
    steps of other cells were seen to do: quantiles of measured over predicted.
    """

    values: Mapping[str, Interval]
    knots: tuple[int, ...]
    spread: Spread | None = None

    def estimate(
        self, executed: Executed, sequences: Sequence[SequenceStep], *, sampled: int
    ) -> Interval:
        """Seconds of one step over ``sequences``; ``sampled`` rows go through the output head."""
        amounts = step_terms(executed, sequences, sampled=sampled, knots=self.knots)
        total = sum((self.values[n].times(amount) for n, amount in amounts.items()), start=ZERO)
        if self.spread is None:
            return total
        return self.spread.around(total.value, decodes=all(s.new == 1 for s in sequences))

    def per_stored_token_s(self, executed: Executed, *, context: int) -> Interval:
        """Slope of a decode step at ``context``: seconds that one more stored token adds."""
        here, there = (
            step_terms(executed, decode_sequences(batch=1, context=at), sampled=1, knots=self.knots)
            for at in (context, context + 1)
        )
        moved = {name: there[name] - amount for name, amount in here.items()}
        total = sum((self.values[n].times(a) for n, a in moved.items() if a), start=ZERO)
        return total if self.spread is None else self.spread.around(total.value, decodes=True)
