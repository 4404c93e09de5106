"""From ledgers' raw material to ``ObservedQuantities``: what predictions are held against."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.absence import Absent
from assay.analysis.events import EventRecord, Fact
from assay.analysis.iterations import IterationLog
from assay.analysis.metrics import client, server
from assay.analysis.observed import ObservedAttempt, ObservedMemory, ObservedQuantities
from assay.analysis.quantities import NS_PER_S
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt

_MEMORY_FACTS = frozenset({Fact.memory, Fact.kv_taken, Fact.kv_released})


@dataclass(slots=True, kw_only=True)
class MemoryLog:
    """Memory and block figures of the engine's own events, with their peaks."""

    kv_bytes_allocated: int | None = None
    kv_total_blocks: int | None = None
    kv_peak_used_blocks: int | None = None
    rss_peak_bytes: int | None = None

    def take(self, event: EventRecord) -> None:
        fact = event.fact
        if fact not in _MEMORY_FACTS:
            return
        value = event.value
        if not isinstance(value, dict):
            return
        if fact is Fact.memory:
            self.kv_bytes_allocated = _greater(
                self.kv_bytes_allocated, value.get("kv_bytes_allocated")
            )
            self.rss_peak_bytes = _greater(self.rss_peak_bytes, value.get("rss_bytes"))
        elif fact in (Fact.kv_taken, Fact.kv_released):
            self.kv_total_blocks = _greater(self.kv_total_blocks, value.get("total"))
            self.kv_peak_used_blocks = _greater(self.kv_peak_used_blocks, value.get("used"))

    @property
    def block_bytes(self) -> int | None:
        """Bytes of one block: what the engine allocated for KV, over its number of blocks."""
        if not self.kv_bytes_allocated or not self.kv_total_blocks:
            return None
        return self.kv_bytes_allocated // self.kv_total_blocks


def observed_quantities(
    attempts: Sequence[ObservedAttempt],
    iterations: IterationLog,
    memory: MemoryLog,
    *,
    weight_file_bytes: int | None,
    clock_domain: str,
    level: str,
) -> ObservedQuantities:
    """Everything measured in the measured phase that a prediction may be compared with."""
    segments = {a.segment for a in attempts}
    return ObservedQuantities(
        clock_domain=clock_domain,
        level=level,
        has_engine_record=bool(iterations.steps),
        steps=tuple(s for s in iterations.steps if s.segment in segments and s.segment is not None)
        if segments != {None}
        else tuple(iterations.steps),
        attempts=tuple(attempts),
        memory=ObservedMemory(
            weight_file_bytes=weight_file_bytes,
            kv_bytes_allocated=memory.kv_bytes_allocated,
            kv_total_blocks=memory.kv_total_blocks,
            kv_peak_used_blocks=memory.kv_peak_used_blocks,
            rss_peak_bytes=memory.rss_peak_bytes,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillSeen:
    """Steps in which an attempt's prompt was computed (None: no such record); ``alone`` in all of them."""

    steps: int | None = None
    alone: bool | None = None


def prefill_seen(attempt_id: str, iterations: IterationLog) -> PrefillSeen:
    steps = iterations.prefill_steps_of.get(attempt_id)
    alone = None if steps is None else attempt_id not in iterations.shared_prefill
    return PrefillSeen(steps=steps, alone=alone)


def observed_attempt(
    attempt: Attempt, record: ServerRecord | None, prefill: PrefillSeen
) -> ObservedAttempt:
    """One attempt at both ends, as predictions ask for it."""
    tpot = client.tpot_last_token(attempt, record)
    return ObservedAttempt(
        attempt_id=attempt.attempt_id,
        segment=attempt.segment,
        case=attempt.case,
        client_state=attempt.state.value,
        prompt_tokens=attempt.prompt_tokens,
        cached_tokens=attempt.reply.cached_tokens,
        output_tokens=attempt.output_tokens,
        queue_ns=_ns(server.queue_server(attempt, record)),
        prefill_ns=_ns(server.prefill_server(attempt, record)),
        decode_ns=_ns(server.decode_server(attempt, record)),
        prefill_steps=prefill.steps,
        alone=prefill.alone,
        ttft_server_ns=_ns(server.ttft_server(attempt, record)),
        ttft_client_ns=_ns(client.ttft_first_content(attempt, record)),
        tpot_ns=None if isinstance(tpot, Absent) else tpot * NS_PER_S,
    )


def _ns(value: float | Absent) -> int | None:
    return None if isinstance(value, Absent) else round(value * NS_PER_S)


def _greater(known: int | None, value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return known
    return value if known is None or value > known else known
