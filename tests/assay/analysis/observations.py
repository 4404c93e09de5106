"""Made observations of a run, in the shape that residuals read."""

from collections.abc import Sequence
from typing import Any

from assay.analysis.observed import (
    ObservedAttempt,
    ObservedMemory,
    ObservedQuantities,
    ObservedStep,
    StepPhase,
)


def step(number: int, duration_s: float, **fields: Any) -> ObservedStep:
    """A decode step of the load, ``batch`` sequences with ``stored`` tokens each before it ran."""
    batch = fields.pop("batch", 1)
    stored = fields.pop("stored", 76)
    base: dict[str, Any] = {
        "number": number, "start_ns": number * 10**8, "duration_ns": round(duration_s * 1e9),
        "phase": StepPhase.decode, "batch": batch, "tokens_in": batch, "tokens_out": batch,
        "prefill_tokens": 0, "decode_tokens": batch, "context_tokens": batch * (stored + 1),
        "decode_context_tokens": batch * (stored + 1), "recomputed_tokens": 0, "segment": "load",
        "running": batch, "waiting": 0, "kv_used_blocks": 10, "kv_total_blocks": 512,
    }  # fmt: skip
    return ObservedStep(**(base | fields))


def attempt(number: int, **fields: Any) -> ObservedAttempt:
    base: dict[str, Any] = {
        "attempt_id": f"load-{number:04}.A1", "segment": "load", "case": None,
        "client_state": "completed", "prompt_tokens": 64, "cached_tokens": 0, "output_tokens": 24,
        "queue_ns": 0, "prefill_ns": None, "decode_ns": None, "prefill_steps": 1, "alone": False,
        "ttft_server_ns": None, "ttft_client_ns": None, "tpot_ns": None,
    }  # fmt: skip
    return ObservedAttempt(**(base | fields))


NO_MEMORY = ObservedMemory(
    weight_file_bytes=None,
    kv_bytes_allocated=None,
    kv_total_blocks=None,
    kv_peak_used_blocks=None,
    rss_peak_bytes=None,
)


def observed(
    *,
    steps: Sequence[ObservedStep] = (),
    attempts: Sequence[ObservedAttempt] = (),
    memory: ObservedMemory = NO_MEMORY,
    has_engine_record: bool = True,
) -> ObservedQuantities:
    return ObservedQuantities(
        clock_domain="boot/ns/monotonic",
        level="E2",
        has_engine_record=has_engine_record,
        steps=tuple(steps),
        attempts=tuple(attempts),
        memory=memory,
    )
