"""The engine's iteration record: which requests each step of the model loop carried, and what it cost.

A model call is not one forward pass: forward passes are counted here, calls in the ledgers. Being in the same
iteration is no simultaneous execution of two requests' phases. A prompt may be cut into chunks or computed
again after a preemption, so "prefill happens once" is not assumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.analysis.errors import BadRecord
from assay.analysis.events import EventRecord, Fact
from assay.analysis.observed import CountedStep, ObservedStep, StepPhase
from assay.analysis.server_record import ServerRecords


@dataclass(frozen=True, slots=True)
class Share:
    """One request's part of a step."""

    request: str
    tokens_in: int
    tokens_out: int
    context: int
    decodes: bool
    recomputed: int


_COUNTS = ("prefill_requests", "decode_requests", "prefill_tokens", "decode_tokens")
_ENDED = frozenset({Fact.completed, Fact.cancelled, Fact.failed, Fact.rejected})


@dataclass(slots=True)
class IterationLog:
    """Collects steps in one pass over the events. ``segment_of`` maps a request to its plan segment.

    ``counted`` are the steps of a record that names no request, with their evidence.
    """

    segment_of: Mapping[str, str | None]
    steps: list[ObservedStep] = field(default_factory=list)
    evidence: list[str | None] = field(default_factory=list)
    counted: list[tuple[CountedStep, str | None]] = field(default_factory=list)
    decode_steps_of: dict[str, int] = field(default_factory=dict)
    prefill_steps_of: dict[str, int] = field(default_factory=dict)
    shared_prefill: set[str] = field(default_factory=set)  # prefilled beside another request
    _answered: set[str] = field(default_factory=set)
    _again: set[str] = field(default_factory=set)
    _held: set[str] = field(default_factory=set)  # received and not yet ended

    @property
    def count(self) -> int:
        return len(self.steps) + len(self.counted)

    def take(self, event: EventRecord, records: ServerRecords) -> None:
        """Enter an iteration (and its span into each carried request's record) or a preemption."""
        fact = event.fact
        if event.attempt_id is not None:
            self._follow(event.attempt_id, fact)
        if fact is not Fact.iteration or not isinstance(event.value, dict):
            return
        value = event.value
        duration = value.get("duration_ns")
        if not isinstance(duration, int) or duration < 0:
            raise BadRecord(
                field=f"{event.evidence} duration_ns",
                seen=repr(duration),
                allowed="a whole number of ns, 0 or more",
                remedy="The engine's iteration record is damaged.",
            )
        if "requests" not in value:
            self.counted.append((self._counted(event, value, duration), event.evidence))
            return
        shares = [self._share(part) for part in value["requests"]]
        self.steps.append(self._step(event, value, duration, shares))
        self.evidence.append(event.evidence)
        for share in shares:
            if not share.decodes and len(shares) > 1:
                self.shared_prefill.add(share.request)
            if share.request in self.segment_of:
                record = records.of(share.request, event.clock_domain, event.error_ns)
                record.step(event.t_ns, duration)

    def _follow(self, request: str, fact: Fact | None) -> None:
        if fact is Fact.preempted:
            self._again.add(request)
        elif fact is Fact.received:
            self._held.add(request)
        elif fact in _ENDED:
            self._held.discard(request)

    def _counted(self, event: EventRecord, value: Mapping[str, Any], duration: int) -> CountedStep:
        """A step can have carried only requests that the engine held when it began."""
        prefilling, decoding, prompt, decoded = (_count(event, value, name) for name in _COUNTS)
        with_decode = StepPhase.mixed if prefilling else StepPhase.decode
        segments = {self.segment_of.get(request) for request in self._held}
        return CountedStep(
            number=int(value.get("number", len(self.counted))),
            start_ns=event.t_ns,
            duration_ns=duration,
            phase=with_decode if decoding else StepPhase.prefill,
            batch=prefilling + decoding,
            tokens_in=prompt + decoded,
            prefill_tokens=prompt,
            decode_tokens=decoded,
            segment=next(iter(segments)) if len(segments) == 1 else None,
            kv_used_blocks=_int_or_none(value.get("kv_used")),
            kv_total_blocks=_int_or_none(value.get("kv_total")),
        )

    def _share(self, part: Mapping[str, Any]) -> Share:
        request = str(part.get("request"))
        tokens_in, tokens_out = int(part.get("tokens_in", 0)), int(part.get("tokens_out", 0))
        phase = part.get("phase")
        decodes = (
            phase == StepPhase.decode
            if isinstance(phase, str)
            else request in self._answered and request not in self._again
        )
        stated = part.get("recomputed")
        recomputed = stated if isinstance(stated, int) else 0
        if stated is None and request in self._again and not decodes:
            recomputed = tokens_in
        counts = self.decode_steps_of if decodes else self.prefill_steps_of
        counts[request] = counts.get(request, 0) + 1
        if tokens_out:
            self._answered.add(request)
            self._again.discard(request)
        return Share(
            request, tokens_in, tokens_out, int(part.get("context", 0)), decodes, recomputed
        )

    def _step(
        self, event: EventRecord, value: Mapping[str, Any], duration: int, shares: list[Share]
    ) -> ObservedStep:
        decoding = tokens_in = tokens_out = decode_tokens = context = decode_context = again = 0
        for share in shares:
            tokens_in += share.tokens_in
            tokens_out += share.tokens_out
            context += share.context
            again += share.recomputed
            if share.decodes:
                decoding += 1
                decode_tokens += share.tokens_in
                decode_context += share.context
        if decoding == len(shares):
            phase = StepPhase.decode
        else:
            phase = StepPhase.mixed if decoding else StepPhase.prefill
        segments = {self.segment_of.get(s.request) for s in shares}
        return ObservedStep(
            number=int(value.get("number", len(self.steps))),
            start_ns=event.t_ns,
            duration_ns=duration,
            phase=phase,
            batch=len(shares),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            prefill_tokens=tokens_in - decode_tokens,
            decode_tokens=decode_tokens,
            context_tokens=context,
            decode_context_tokens=decode_context,
            recomputed_tokens=again,
            segment=next(iter(segments)) if len(segments) == 1 else None,
            running=_int_or_none(value.get("running")),
            waiting=_int_or_none(value.get("waiting")),
            kv_used_blocks=_int_or_none(value.get("kv_used")),
            kv_total_blocks=_int_or_none(value.get("kv_total")),
        )


def _count(event: EventRecord, value: Mapping[str, Any], name: str) -> int:
    found = _int_or_none(value.get(name))
    if found is None or found < 0:
        raise BadRecord(
            field=f"{event.evidence} {name}",
            seen=repr(value.get(name)),
            allowed="a count, where the step does not list its requests",
            remedy="The engine's iteration record is damaged.",
        )
    return found


def _int_or_none(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
