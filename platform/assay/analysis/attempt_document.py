"""An attempt as JSON: every value, or null beside its reason."""

import math
from functools import cache, lru_cache

from assay.analysis.absence import Absent
from assay.analysis.aggregates import special
from assay.analysis.documents import AttemptReading, MetricValue
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.analysis.metrics.rule import Rule, not_of
from assay.analysis.metrics.server import NO_RECORD
from assay.analysis.retokenized import NO_TOKENIZER
from assay.analysis.server_record import ServerRecord
from assay.analysis.token_counts import disagreements, token_counts
from assay.analysis.wire import content
from assay.analysis.wire.attempt import Attempt
from experiments.schema.workload import CallType

_WHY_NO_TIME = {
    "sent": "no send was recorded",
    "first_byte": "no response byte came",
    "first_content_event": "no event with a non-empty delta came",
    "first_visible": "no non-empty answer delta came",
    "last_content": "no event with a non-empty delta came",
    "done": "neither [DONE] nor the end of the body was seen",
}
_WHY_NO_COUNT = {
    "token_ids": "the server sent no token ids",
    "usage": "the server sent no usage",
    "prompt_tokens": "the server sent neither usage nor prompt token ids",
    "cached_tokens": "the server did not report cached tokens",
}


def attempt_document(attempt: Attempt, record: ServerRecord | None) -> AttemptReading:
    """The reading of one attempt: four timestamps, four counts, text by class, metrics by rule."""
    reply = attempt.reply
    times: dict[str, int | None] = {
        "scheduled": attempt.scheduled_ns,
        "created": attempt.created_ns,
        "sent": attempt.sent_ns,
        "headers": attempt.headers_ns,
        "first_byte": attempt.first_byte_ns,
        "first_content_event": reply.first_content_ns,
        "first_visible": reply.first_visible_ns,
        "last_content": reply.last_content_ns,
        "done": attempt.done_ns,
        "ended": attempt.decided_ns,
    }
    counts: dict[str, int | None] = {
        **token_counts(attempt),
        "content_chunks": len(reply.chunk_times_ns),
        "events": reply.events,
    }
    texts = reply.choices()
    return AttemptReading(
        attempt_id=attempt.attempt_id,
        request_id=attempt.ids.request_id,
        task_id=attempt.ids.task_id,
        session_id=attempt.ids.session_id,
        model_call_id=attempt.ids.model_call_id,
        retry_of=attempt.ids.retry_of,
        segment=attempt.segment,
        case=attempt.case,
        client_state=attempt.state.value,
        failure=attempt.failure,
        timestamps_ns=times,
        counts=counts,
        disagreements=disagreements(attempt),
        usage_form=reply.usage_form,
        dialect=reply.dialect,
        dialect_by=reply.dialect_by,
        response_headers=attempt.headers,
        prompt_tokens=attempt.prompt_tokens,
        cached_tokens=reply.cached_tokens,
        text=texts[min(texts)] if texts else "",
        reasoning_text=reply.reasoning_text,
        tool_calls=[
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in reply.tool_calls
        ],
        finish_reason=reply.finish_reason,
        chunk_times_ns=reply.chunk_times_ns.tolist(),
        chunk_tokens=reply.chunk_tokens.as_list(),
        metrics=metric_values(attempt, record),
        classes=class_counts(attempt),
        choices=[
            {"index": index, "text": text, "finish_reason": reply.finish.get(index)}
            for index, text in texts.items()
        ]
        if len(texts) > 1
        else [],
        refusal_text=reply.refusal_text,
        late={"bytes": attempt.late_bytes, "content_chunks": attempt.late_chunks},
        status=attempt.status,
        clock_domain=attempt.clock_domain,
        absent=_reasons(times, counts, attempt),
    )


def metric_values(attempt: Attempt, record: ServerRecord | None) -> dict[str, MetricValue]:
    """Every rule of the catalogue on one attempt: a value, or why there is none."""
    known, asked = _rules_of(attempt.call_type, has_record=record is not None)
    found = known.copy()
    for name, rule in asked:
        value = rule.compute(attempt, record)
        if isinstance(value, Absent):
            found[name] = _none_of(rule.unit, value.reason)
        elif math.isfinite(value):
            found[name] = {"value": value, "unit": rule.unit, "absent": None}
        else:
            words = special(value)
            found[name] = {"value": None, "unit": rule.unit, "absent": None, "special": words}
    return found


@cache
def _rules_of(
    kind: CallType, *, has_record: bool
) -> tuple[dict[str, MetricValue], list[tuple[str, Rule]]]:
    """Every rule in its order with what no attempt of this type has, and those that are to be asked."""
    known: dict[str, MetricValue] = {}
    asked: list[tuple[str, Rule]] = []
    for name, rule in ATTEMPT_RULES.items():
        if kind not in rule.call_types:
            known[name] = _none_of(rule.unit, not_of(kind).reason)
        else:
            known[name] = _none_of(rule.unit, NO_RECORD)
            if has_record or rule.perspective != "server":
                asked.append((name, rule))
    return known, asked


@lru_cache(maxsize=1024)
def _none_of(unit: str, reason: str) -> MetricValue:
    """Most attempts of a run lack the same metrics for the same reasons."""
    return {"value": None, "unit": unit, "absent": reason}


def class_counts(attempt: Attempt) -> dict[str, int]:
    """How many events carried each content class."""
    counts = dict.fromkeys(content.CLASS_NAMES.values(), 0)
    for classes, number in attempt.reply.class_counts.items():
        for name in _class_names(classes):
            counts[name] += number
    return counts


@cache
def _class_names(classes: int) -> tuple[str, ...]:
    return tuple(name for bit, name in content.CLASS_NAMES.items() if classes & bit)


def _reasons(
    times: dict[str, int | None], counts: dict[str, int | None], attempt: Attempt
) -> dict[str, str]:
    reasons = {
        f"timestamps_ns.{name}": why for name, why in _WHY_NO_TIME.items() if times[name] is None
    }
    if attempt.scheduled_ns is None:
        reasons["timestamps_ns.scheduled"] = attempt.unscheduled.value
    reasons |= {
        f"counts.{name}": why
        for name, why in _WHY_NO_COUNT.items()
        if name in counts and counts[name] is None
    }
    if attempt.retokenized is None:
        reasons["counts.retokenized"] = attempt.retokenized_absent or NO_TOKENIZER.reason
    if attempt.prompt_tokens is None:
        reasons["prompt_tokens"] = _WHY_NO_COUNT["prompt_tokens"]
    if attempt.reply.cached_tokens is None:
        reasons["cached_tokens"] = _WHY_NO_COUNT["cached_tokens"]
    return reasons
