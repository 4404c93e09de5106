"""How long one step takes on a measured machine: a bound, and a conditional estimate from named parameters.

The estimate is a serial, staged sum. Its coefficients are effective figures of this machine and this
software, not physical peaks:

    T = matrices(rows) + head(sampled rows) + attention + element-wise + L x layer_launch
        + step_overhead + sampled x shared_core

* ``matrices``: weight bytes x measured s/byte of a pass over the model's matrices with that many rows,
  interpolated between measured row counts on a log-log line, extended by FLOPs beyond the largest.
* ``attention``: stored K/V copied out of their blocks and read once (decode), or executed FLOPs (prompt).
* ``element-wise``: bytes that norms, rotary embedding, residuals and the gate move through the cache.
* ``shared_core``: CPU time that front end and client take per streamed token from the model's cores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

from assay.analysis.devices.machine import ZERO, Best, Interval
from assay.analysis.perfmodel.bounds import Bound, step_bound
from assay.analysis.perfmodel.precision import dtype_bytes
from assay.analysis.perfmodel.structure import Structure
from assay.analysis.perfmodel.weights import WeightFormats
from assay.analysis.perfmodel.work import Operator, SequenceStep, step_operators


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
    """Effective times of the machine. ``matmul`` maps row counts to s per weight byte."""

    matmul: tuple[tuple[int, Interval], ...]
    state_read_s_per_byte: Interval
    state_copy_s_per_byte: Interval  # per byte moved; a copy moves each stored byte twice
    prompt_attention_s_per_flop: Interval
    cache_s_per_byte: Interval
    layer_launch_s: Interval
    step_overhead_s: Interval
    shared_core_s_per_token: Interval
    elementwise_elements: Interval  # moved per row and layer, in units of d_model

    def estimate(
        self, executed: Executed, sequences: Sequence[SequenceStep], *, sampled: int
    ) -> Interval:
        """Seconds of one step over ``sequences``; ``sampled`` rows go through the output head."""
        operators = executed.operators(sequences, sampled=sampled)
        structure, rows = executed.structure, sum(s.new for s in sequences)
        total = self.layer_launch_s.times(structure.layers) + self.step_overhead_s
        total += self.shared_core_s_per_token.times(sampled)
        for operator in operators:
            if operator.kind == "matmul":
                total += self._pass(operator.rows).times(operator.weight_bytes)
        element = dtype_bytes(executed.dtype, field="dtype")
        moved = rows * structure.layers * structure.d_model * element
        total += _product(self.elementwise_elements, self.cache_s_per_byte.times(moved))
        return total + self._attention(executed, sequences)

    def per_stored_token_s(self, executed: Executed) -> Interval:
        """Slope of a decode step: seconds that one more stored token adds, copied out and read once."""
        structure = executed.structure
        size = 2 * structure.layers * structure.kv_width
        size *= dtype_bytes(executed.kv_dtype, field="kv_dtype")
        return self.state_copy_s_per_byte.times(2 * size) + self.state_read_s_per_byte.times(size)

    def _attention(self, executed: Executed, sequences: Sequence[SequenceStep]) -> Interval:
        decoding = [s for s in sequences if s.new == 1]
        prompts = [s for s in sequences if s.new > 1]
        total = ZERO
        for group in (decoding, prompts):
            if not group:
                continue
            attention = _attention_of(executed.operators(group, sampled=0))
            attended = attention.state_read_bytes + attention.state_write_bytes
            total += self.state_copy_s_per_byte.times(2 * attended)
            if group is decoding:
                total += self.state_read_s_per_byte.times(attended)
            else:
                total += self.prompt_attention_s_per_flop.times(attention.executed_flops)
        return total

    def _pass(self, rows: int) -> Interval:
        """s per weight byte at ``rows`` rows: log-log between measured counts, by FLOPs beyond the last."""
        points = self.matmul
        if rows <= points[0][0]:
            return points[0][1]
        for (low, at_low), (high, at_high) in pairwise(points):
            if rows <= high:
                share = log(rows / low) / log(high / low)
                return _between(at_low, at_high, share)
        last, at_last = points[-1]
        return at_last.times(rows / last)


def _attention_of(operators: Sequence[Operator]) -> Operator:
    return next(operator for operator in operators if operator.kind == "attention")


def _between(a: Interval, b: Interval, share: float) -> Interval:
    def mix(x: float, y: float) -> float:
        return exp(log(x) * (1 - share) + log(y) * share)

    return Interval(value=mix(a.value, b.value), low=mix(a.low, b.low), high=mix(a.high, b.high))


def _product(a: Interval, b: Interval) -> Interval:
    """Product of two intervals of values that are not negative."""
    return Interval(value=a.value * b.value, low=a.low * b.low, high=a.high * b.high)
