"""Find what was measured for a predicted quantity: same layer, same conditions, or the reason why not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.observed import (
    ObservedAttempt,
    ObservedQuantities,
    ObservedStep,
    StepPhase,
)
from assay.analysis.quantities import NS_PER_S
from runners.protocol.documents import Prediction
from runners.protocol.events import ClientState


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measured value in the prediction's unit: the median of ``n`` observations, with their quartiles."""

    value: float
    n: int
    quartiles: tuple[float, float] | None


def measured_for(prediction: Prediction, observed: ObservedQuantities) -> Measured | Absent:
    """The measurement that a prediction is held against."""
    finder = _FINDERS.get(prediction["quantity"])
    if finder is None:
        return Absent(f"nothing observes {prediction['quantity']} here")
    return finder(prediction["conditions"], observed)


def decode_steps(observed: ObservedQuantities) -> list[ObservedStep]:
    """Steps in which every request decoded one token and nothing was recomputed."""
    return [
        step
        for step in observed.steps
        if step.phase is StepPhase.decode and not step.recomputed_tokens
    ]


def attempts_of(conditions: dict[str, Any], observed: ObservedQuantities) -> list[ObservedAttempt]:
    """Attempts of the prediction's segment and case."""
    return [
        attempt
        for attempt in observed.attempts
        if attempt.segment == conditions["segment"] and attempt.case == conditions.get("case")
    ]


def _decode_step(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    batch, segment = conditions["batch"], conditions["segment"]
    low = conditions["input_tokens"]
    high = low + conditions["output_tokens"]
    chosen = [
        step.duration_ns / NS_PER_S
        for step in decode_steps(observed)
        if step.batch == batch
        and step.segment == segment
        and low <= step.context_tokens / step.batch <= high
    ]
    return _median(
        chosen,
        _without_record(observed)
        or f"no {segment} step decoded {batch} at {low} to {high} tokens of context",
    )


def _mixed_step(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    chosen = [
        step.duration_ns / NS_PER_S
        for step in observed.steps
        if step.phase is StepPhase.mixed
        and step.batch == conditions["batch"]
        and step.segment == conditions["segment"]
        and step.prefill_tokens == conditions["input_tokens"]
        and not step.recomputed_tokens
    ]
    return _median(
        chosen,
        _without_record(observed)
        or f"no step ran one whole prompt beside {conditions['batch'] - 1} decoding requests",
    )


def _prompt_time(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    chosen = [
        attempt.prefill_ns / NS_PER_S
        for attempt in attempts_of(conditions, observed)
        if attempt.prefill_ns is not None and attempt.alone
    ]
    reason = "no prompt of this shape ran alone in the engine's record"
    return _median(chosen, _without_record(observed) or reason)


def _ttft(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    chosen = [
        attempt.ttft_client_ns / NS_PER_S
        for attempt in attempts_of(conditions, observed)
        if attempt.ttft_client_ns is not None
    ]
    return _median(chosen, "no attempt of this shape had a first content event")


def _tpot(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    chosen = [
        attempt.tpot_ns / NS_PER_S
        for attempt in attempts_of(conditions, observed)
        if attempt.tpot_ns is not None
    ]
    return _median(chosen, "no attempt of this shape had two tokens")


def _last_token(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    """TTFT + (tokens - 1) x TPOT by the rule tpot.last_token, which ends at the last token."""
    chosen = [
        (attempt.ttft_client_ns + attempt.tpot_ns * (attempt.output_tokens - 1)) / NS_PER_S
        for attempt in attempts_of(conditions, observed)
        if attempt.client_state == ClientState.completed
        and attempt.ttft_client_ns is not None
        and attempt.tpot_ns is not None
        and attempt.output_tokens is not None
    ]
    return _median(chosen, "no attempt of this shape was completed with two tokens or more")


def _prompt_tokens(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    """For the load, prompt tokens in the engine's own iterations; for a case alone, its attempts' count."""
    if conditions["segment"] == "load" and observed.has_engine_record:
        steps = [s for s in observed.steps if s.segment == "load"]
        total = sum(s.prefill_tokens - s.recomputed_tokens for s in steps)
        return _one(total, "no step of the load was recorded") if steps else Absent("no load ran")
    counts = [a.prompt_tokens for a in attempts_of(conditions, observed)]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(counts):
        return Absent("a prompt's tokens are not known for every attempt of this shape")
    return Measured(value=float(sum(known)), n=len(known), quartiles=None)


def _kv_per_token(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    memory = observed.memory
    if not memory.kv_bytes_allocated or not memory.kv_total_blocks:
        return Absent("the engine's record states no allocated KV bytes or blocks")
    tokens = memory.kv_total_blocks * conditions["block_tokens"]
    return Measured(value=memory.kv_bytes_allocated / tokens, n=1, quartiles=None)


def _sequences(conditions: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
    """A limit shows only under pressure: a request waited while the steps were full."""
    if missing := _without_record(observed):
        return Absent(missing)
    pressed = [step.batch for step in observed.steps if step.waiting]
    if not pressed:
        return Absent("a limit: no request had to wait, so it was never reached")
    return Measured(value=float(max(pressed)), n=len(pressed), quartiles=None)


def _memory(
    field: str, reason: str
) -> Callable[[dict[str, Any], ObservedQuantities], Measured | Absent]:
    def find(_: dict[str, Any], observed: ObservedQuantities) -> Measured | Absent:
        return _one(getattr(observed.memory, field), reason)

    return find


def _not_counted(what: str) -> Callable[[dict[str, Any], ObservedQuantities], Measured | Absent]:
    def find(_: dict[str, Any], __: ObservedQuantities) -> Measured | Absent:
        return Absent(f"no counter of {what} was read")

    return find


def _one(value: float | None, reason: str) -> Measured | Absent:
    return Absent(reason) if value is None else Measured(value=float(value), n=1, quartiles=None)


def _median(values: Sequence[float], reason: str) -> Measured | Absent:
    if not values:
        return Absent(reason)
    return Measured(value=median(values), n=len(values), quartiles=_quartiles(values))


def _quartiles(values: Sequence[float]) -> tuple[float, float] | None:
    """Medians of the lower and upper half; None below four values."""
    if len(values) < 4:
        return None
    ordered = sorted(values)
    half = len(ordered) // 2
    return median(ordered[:half]), median(ordered[-half:])


def _without_record(observed: ObservedQuantities) -> str | None:
    return None if observed.has_engine_record else "the engine left no record of its iterations"


_FINDERS: dict[str, Callable[[dict[str, Any], ObservedQuantities], Measured | Absent]] = {
    "decode_step": _decode_step,
    "mixed_step": _mixed_step,
    "prompt_time": _prompt_time,
    "ttft": _ttft,
    "tpot": _tpot,
    "time_to_last_token": _last_token,
    "prompt_tokens": _prompt_tokens,
    "kv_bytes_per_token": _kv_per_token,
    "concurrent_sequences_max": _sequences,
    "kv_bytes_allocated": _memory("kv_bytes_allocated", "the engine's record states no KV bytes"),
    "kv_total_blocks": _memory("kv_total_blocks", "the engine's record states no KV blocks"),
    "kv_peak_used_blocks": _memory("kv_peak_used_blocks", "no KV block was seen in use"),
    "weight_file_bytes": _memory("weight_file_bytes", "the artifact's files were not identified"),
    "engine_rss_peak": _memory("rss_peak_bytes", "the engine's resident memory was not sampled"),
    "weights_bytes_executed": _not_counted("the bytes of the weights as the engine holds them"),
    "decode_step_flops": _not_counted("FLOPs"),
    "decode_step_bytes": _not_counted("memory traffic"),
    "prompt_flops": _not_counted("FLOPs"),
    "prompt_flops_executed": _not_counted("FLOPs"),
}
