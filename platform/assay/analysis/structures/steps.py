"""One request of a task as it went: its last attempt, its token counts and its work."""

from collections.abc import Sequence

from assay.analysis.absence import Absent
from assay.analysis.quantities import NS_PER_S
from assay.analysis.structures.answers import AnswerFacts
from assay.analysis.structures.call_work import call_flops
from assay.analysis.structures.planned import PlannedRequest, WorkloadFacts
from assay.analysis.task_documents import StepReading
from assay.analysis.wire.attempt import Attempt

NOT_CREATED = "not created"
_NO_INPUT = "the input holds what only the server expands, or its template was not at hand"
_NO_PROMPT = "the server sent neither usage nor prompt token ids"
_NO_CACHED = "the server did not report cached tokens"
_NO_OUTPUT = "the server sent neither token ids nor usage"
_NO_REASONING = "the server did not report reasoning tokens"
_NO_INTERNAL = "no event with a non-empty reasoning delta came"
_NO_VISIBLE = "no non-empty answer delta came"


def step_reading(
    planned: PlannedRequest,
    attempts: Sequence[Attempt],
    answer: AnswerFacts | None,
    facts: WorkloadFacts,
) -> StepReading:
    """``attempts`` are the request's tries in order; without any it was never created."""
    last = attempts[-1] if attempts else None
    starts = [a.start_ns for a in attempts if a.start_ns is not None]
    started = min(starts) if starts else None
    ended = last.decided_ns if last is not None else None
    has_span = started is not None and ended is not None
    reading = StepReading(
        request_id=planned.request_id,
        attempt_id=last.attempt_id if last is not None else None,
        step=planned.step,
        turn=planned.turn,
        branch=planned.branch,
        counts_as=planned.kind.value,
        regeneration_of=planned.regeneration_of,
        client_state=last.state.value if last is not None else NOT_CREATED,
        attempts=len(attempts),
        started_ns=started,
        ended_ns=ended,
        wall_s=(ended - started) / NS_PER_S if has_span else None,  # type: ignore[operator]
        input_tokens=planned.input_tokens,
        history_tokens=planned.history_tokens,
        prompt_tokens=last.prompt_tokens if last is not None else None,
        cached_tokens=last.reply.cached_tokens if last is not None else None,
        unreused_tokens=None,
        output_tokens=last.output_tokens if last is not None else None,
        work_flops=None,
        internal_tokens=last.reply.reasoning_tokens if last is not None else None,
        visible_tokens=None,
        billed_tokens=last.reply.usage_tokens if last is not None else None,
        first_internal_ns=last.reply.first_reasoning_ns if last is not None else None,
        first_visible_ns=last.reply.first_visible_ns if last is not None else None,
        form_held=None,
        form_problem=None,
        call_parsed=answer.has_call if answer is not None else None,
        call_source=planned.call_source,
        absent={},
    )
    _derive(reading, facts)
    if answer is not None and answer.form_problem is not None:
        reading["form_held"] = not answer.form_problem
        reading["form_problem"] = answer.form_problem or None
    reading["absent"] = _reasons(reading)
    return reading


def _derive(reading: StepReading, facts: WorkloadFacts) -> None:
    prompt, cached = reading["prompt_tokens"], reading["cached_tokens"]
    if prompt is not None and cached is not None:
        reading["unreused_tokens"] = prompt - cached
    billed, internal = reading["billed_tokens"], reading["internal_tokens"]
    if billed is not None and internal is not None:
        reading["visible_tokens"] = billed - internal
    work = call_flops(facts.model, prompt=prompt, reused=cached, output=reading["output_tokens"])
    if isinstance(work, Absent):
        reading["absent"]["work_flops"] = work.reason
    else:
        reading["work_flops"] = work


def _reasons(reading: StepReading) -> dict[str, str]:
    if reading["client_state"] == NOT_CREATED:
        return {"attempt_id": "the request was never created: a request before it did not complete"}
    words = {
        "started_ns": "no attempt of it has an instant",
        "ended_ns": "its last attempt has no end",
        "wall_s": "its start or its end is not known",
        "input_tokens": _NO_INPUT,
        "history_tokens": _NO_INPUT if reading["turn"] else "no turn of a session",
        "prompt_tokens": _NO_PROMPT,
        "cached_tokens": _NO_CACHED,
        "unreused_tokens": _NO_CACHED if reading["prompt_tokens"] is not None else _NO_PROMPT,
        "output_tokens": _NO_OUTPUT,
        "work_flops": reading["absent"].get("work_flops", ""),
        "internal_tokens": _NO_REASONING,
        "visible_tokens": f"{_NO_REASONING}, so that the answer's share is not known",
        "billed_tokens": "the server sent no usage",
        "first_internal_ns": _NO_INTERNAL,
        "first_visible_ns": _NO_VISIBLE,
    }
    return {name: why for name, why in words.items() if reading[name] is None}  # type: ignore[literal-required]
