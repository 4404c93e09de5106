"""Tasks of a structured workload: what each came to, what the model did for it, and how long its parts took.

A task's outcome is the contract's and comes from the task ledger. Work that led to nothing (a branch that was
not needed, an answer asked for again) stays in the model's work.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from assay.analysis.documents import LedgerRow
from assay.analysis.ledgers.contract import Contract
from assay.analysis.quantities import NS_PER_S
from assay.analysis.structures.answers import AnswerFacts
from assay.analysis.structures.planned import PlannedRequest, WorkloadFacts
from assay.analysis.structures.steps import NOT_CREATED, step_reading
from assay.analysis.structures.tool_times import ToolRecord, place
from assay.analysis.task_documents import ModelWork, StepReading, TaskReading, ToolTimes
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import Step

FOUR_QUANTITIES = ("history_tokens", "unreused_tokens", "work_flops", "wall_s")
_NOT_TIMED = "the server gave no evidence of it"


def task_readings(
    facts: WorkloadFacts,
    attempts: Iterable[Attempt],
    answers: Mapping[str, AnswerFacts],
    ledger: Mapping[str, LedgerRow],
    contract: Contract,
) -> list[TaskReading]:
    """Every planned task, in the plan's order. ``answers`` by attempt id, ``ledger``: a task's final row."""
    tries: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        tries.setdefault(attempt.ids.request_id or attempt.attempt_id, []).append(attempt)
    for own in tries.values():
        own.sort(key=lambda a: (a.start_ns is None, a.start_ns or 0))
    found = []
    for task_id, requests in facts.by_task().items():
        steps = [_step(request, tries, answers, facts) for request in requests]
        found.append(_task(task_id, requests, steps, ledger.get(task_id), contract, facts))
    return found


def _step(
    request: PlannedRequest,
    tries: Mapping[str, Sequence[Attempt]],
    answers: Mapping[str, AnswerFacts],
    facts: WorkloadFacts,
) -> StepReading:
    own = tries.get(request.request_id, ())
    answer = answers.get(own[-1].attempt_id) if own else None
    return step_reading(request, own, answer, facts)


def _task(
    task_id: str,
    requests: Sequence[PlannedRequest],
    steps: Sequence[StepReading],
    final: LedgerRow | None,
    contract: Contract,
    facts: WorkloadFacts,
) -> TaskReading:
    created = [s for s in steps if s["client_state"] != NOT_CREATED]
    wall_s = _span_s(created)
    missing = _missing(steps, facts)
    absent = {} if wall_s is not None else {"wall_s": "no request of it has a start and an end"}
    if final is None:
        absent["outcome"] = "no request of it was created"
    return TaskReading(
        task_id=task_id,
        session_id=requests[0].session_id,
        structure=facts.structure,
        turn=requests[0].turn,
        outcome=None if final is None else final["state"],
        completion=_completion(contract, requests, final),
        requests_planned=sum(r.regeneration_of is None for r in requests),
        requests_created=sum(s["regeneration_of"] is None for s in created),
        model_calls=len(created),
        regenerations=sum(s["regeneration_of"] is not None for s in created),
        attempts=sum(s["attempts"] for s in created),
        wall_s=wall_s,
        steps=list(steps),
        model_work=_model_work(created),
        tool=_tool(requests, steps, facts),
        media=[_medium(item) for item in facts.media],
        is_reviewable=not missing,
        not_reviewable=missing,
        absent=absent,
    )


def _span_s(steps: Sequence[StepReading]) -> float | None:
    starts = [s["started_ns"] for s in steps if s["started_ns"] is not None]
    ends = [s["ended_ns"] for s in steps if s["ended_ns"] is not None]
    return (max(ends) - min(starts)) / NS_PER_S if starts and ends else None


def _completion(
    contract: Contract, requests: Sequence[PlannedRequest], final: LedgerRow | None
) -> dict[str, Any]:
    counts = [r.kind.value for r in requests if r.regeneration_of is None]
    return {
        "contract": contract.name,
        "required_branches": contract.required_branches,
        "all_branches_required": contract.all_branches_required,
        "degradation": contract.degradation,
        "deadline_s": contract.deadline_s,
        "planned": {kind: counts.count(kind) for kind in sorted(set(counts))},
        "why": None if final is None else final["detail"],
    }


def _model_work(created: Sequence[StepReading]) -> ModelWork:
    again = {s["regeneration_of"] for s in created if s["regeneration_of"] is not None}
    # Of an answer that was asked for again only the last is output; those before it are cost.
    last_of = {first: [s for s in created if s["regeneration_of"] == first][-1] for first in again}
    superseded = [
        s
        for s in created
        if s["request_id"] in again
        or (s["regeneration_of"] is not None and s is not last_of[s["regeneration_of"]])
    ]
    kept = [s for s in created if s not in superseded]
    stored = [
        None
        if s["prompt_tokens"] is None or s["output_tokens"] is None
        else s["prompt_tokens"] + s["output_tokens"]
        for s in created
    ]
    sums = {
        "prompt_tokens": _sum([s["prompt_tokens"] for s in created]),
        "unreused_tokens": _sum([s["unreused_tokens"] for s in created]),
        "output_tokens": _sum([s["output_tokens"] for s in kept]),
        "regenerated_output_tokens": _sum([s["output_tokens"] for s in superseded]),
        "state_tokens": _sum(stored),
        "work_flops": _sum([s["work_flops"] for s in created]),
    }
    why = "not known of every call of this task"
    absent = {name: why for name, value in sums.items() if value is None}
    return cast("ModelWork", {**sums, "absent": absent})


def _sum(values: Sequence[int | None]) -> int | None:
    return None if any(v is None for v in values) else sum(v for v in values if v is not None)


def _tool(
    requests: Sequence[PlannedRequest], steps: Sequence[StepReading], facts: WorkloadFacts
) -> ToolTimes | None:
    call = next((s for s in steps if s["step"] == Step.tool_call), None)
    following = next((r for r in requests if r.step == Step.continuation), None)
    if call is None or following is None:
        return None
    after = next(s for s in steps if s["request_id"] == following.request_id)
    waiting = None
    if call["ended_ns"] is not None and after["started_ns"] is not None:
        waiting = (after["started_ns"] - call["ended_ns"]) / NS_PER_S
    placed = place(
        ToolRecord(
            trigger_ns=call["ended_ns"],
            consumers=[following.request_id] if after["started_ns"] is not None else [],
            join_ns=after["started_ns"],
            answer=following.request_id,
        )
    )
    name = following.dependency or "unnamed"
    times = {
        "call_generation_s": call["wall_s"],
        "waiting_s": waiting,
        "continued_generation_s": after["wall_s"],
    }
    found = {
        **times,
        "dependency": name,
        "mocked": name in facts.mocked,
        "injected_s": facts.mocked.get(name),
        "placement": placed.placement.value,
        "placement_why": placed.why,
        "absent": {n: "the task ended before it" for n, value in times.items() if value is None},
    }
    return cast("ToolTimes", found)


def _missing(steps: Sequence[StepReading], facts: WorkloadFacts) -> list[str]:
    """Which of the four quantities a created turn lacks; without all four nobody can review it."""
    if facts.structure != "linear_session":
        return []
    created = [s for s in steps if s["client_state"] != NOT_CREATED]
    return [n for n in FOUR_QUANTITIES if any(s[n] is None for s in created)]  # type: ignore[literal-required]


def _medium(item: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent, and nulls for what only the server knows. A count of media is no count of tokens."""
    unknown = ("tokens", "fetch_s", "decode_s", "preprocess_s", "encode_s")
    why = dict.fromkeys(unknown, _NOT_TIMED)
    why["tokens"] = "the server did not count the tokens of media apart"
    return {**item, **dict.fromkeys(unknown), "absent": why}
