"""What a run measured, in the shape that predictions are held against.

Values come from the engine's own iteration record and from both ends of each attempt; nothing here is
estimated. An unknown value is None, never 0. Only the measured phase enters (no warm-up, no profile).
Source of each part: ``engine_events.jsonl`` (steps, memory, server times), ``attempts.parquet`` and
``wire/`` (client times), ``identity.json`` (weight bytes on disk).
"""

from dataclasses import dataclass
from enum import StrEnum


class StepPhase(StrEnum):
    """What the requests of one iteration were doing. ``mixed``: some prefilled while others decoded."""

    prefill = "prefill"
    decode = "decode"
    mixed = "mixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedStep:
    """One iteration of the model loop, from the engine's record.

    ``duration_ns`` is the engine's own figure. ``batch`` counts the requests in the step.
    ``tokens_in = prefill_tokens + decode_tokens`` are the tokens run through the model,
    ``tokens_out`` the tokens sampled. ``context_tokens`` sums, over the requests, the engine's ``context``:
    tokens in the KV cache once the step has run. ``decode_context_tokens`` is the part of decoding requests.
    ``recomputed_tokens`` were prefilled again after a preemption. ``segment`` is cases | load when every
    request of the step is of one segment, else null.
    """

    number: int
    start_ns: int
    duration_ns: int
    phase: StepPhase
    batch: int
    tokens_in: int
    tokens_out: int
    prefill_tokens: int
    decode_tokens: int
    context_tokens: int
    decode_context_tokens: int
    recomputed_tokens: int
    segment: str | None
    running: int | None
    waiting: int | None
    kv_used_blocks: int | None
    kv_total_blocks: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedStep:
    """One iteration of an engine whose record counts requests and tokens and names no request.

    What would need the requests themselves (their context, tokens sampled, recomputed tokens) is not known
    and no prediction is held against it. ``segment`` is set where every request that the engine held then was
    of one segment.
    """

    number: int
    start_ns: int
    duration_ns: int
    phase: StepPhase
    batch: int
    tokens_in: int
    prefill_tokens: int
    decode_tokens: int
    segment: str | None
    kv_used_blocks: int | None
    kv_total_blocks: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedAttempt:
    """One attempt at both ends. Server times need the engine's record and are None without it.

    ``prefill_ns``: scheduled to first token; ``queue_ns``: queued to scheduled; ``ttft_server_ns``: queued
    to first token; ``ttft_client_ns``: last request byte sent to first content event. ``alone`` is true when
    every step from its scheduling to its first token carried this request only.
    """

    attempt_id: str
    segment: str | None
    case: str | None
    client_state: str
    prompt_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    queue_ns: int | None
    prefill_ns: int | None
    decode_ns: int | None
    prefill_steps: int | None
    alone: bool | None
    ttft_server_ns: int | None
    ttft_client_ns: int | None
    tpot_ns: float | None  # rule tpot.last_token


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedMemory:
    """Memory as the engine and the host reported it. Peaks are over the measured phase."""

    weight_file_bytes: int | None
    kv_bytes_allocated: int | None
    kv_total_blocks: int | None
    kv_peak_used_blocks: int | None
    rss_peak_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedQuantities:
    """Everything measured that a prediction may be compared with.

    ``level`` is the resource level that bounds these observations; ``has_engine_record`` is false when no
    iteration was recorded, so that an empty ``steps`` is not read as "no steps ran".
    """

    clock_domain: str
    level: str
    has_engine_record: bool
    steps: tuple[ObservedStep, ...]
    attempts: tuple[ObservedAttempt, ...]
    memory: ObservedMemory
