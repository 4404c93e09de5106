"""Figures over the tasks of a run: calls per task, and what its structure is measured by.

A session is a container: its turns' quantities are summed for it; it completes nothing, has no outcome.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from assay.analysis.structures.planned import WorkloadFacts
from assay.analysis.task_documents import TaskReading, WorkloadReading, WorkloadRow

Value = Callable[[TaskReading], float | int | None]

_OF_EVERY_TASK: tuple[tuple[str, str, Value], ...] = (
    ("task.model_calls", "calls", lambda t: t["model_calls"]),
    ("task.attempts", "attempts", lambda t: t["attempts"]),
    ("task.regenerations", "calls", lambda t: t["regenerations"]),
    ("task.wall_time", "s", lambda t: t["wall_s"]),
    ("task.prompt_tokens", "tokens", lambda t: t["model_work"]["prompt_tokens"]),
    ("task.output_tokens", "tokens", lambda t: t["model_work"]["output_tokens"]),
    (
        "task.regenerated_output_tokens",
        "tokens",
        lambda t: t["model_work"]["regenerated_output_tokens"],
    ),
    ("task.state_tokens", "tokens", lambda t: t["model_work"]["state_tokens"]),
    ("task.algorithmic_work", "FLOP", lambda t: t["model_work"]["work_flops"]),
)
_OF_TOOLS = ("call_generation_s", "waiting_s", "continued_generation_s")
_OF_SESSIONS = (
    ("history_tokens", "tokens"),
    ("unreused_tokens", "tokens"),
    ("work_flops", "FLOP"),
    ("wall_s", "s"),
)


def workload_reading(facts: WorkloadFacts, tasks: Sequence[TaskReading]) -> WorkloadReading:
    """Group rows over the tasks that were created; those never created are counted beside them."""
    created = [task for task in tasks if task["requests_created"]]
    rows = [
        _row(
            name, unit, [value(task) for task in created], population="tasks with a request created"
        )
        for name, unit, value in _OF_EVERY_TASK
    ]
    for name in _OF_TOOLS:
        times = [t["tool"][name] for t in created if t["tool"] is not None]  # type: ignore[literal-required]
        if times:
            rows.append(
                _row(f"tool.{name.removesuffix('_s')}", "s", times, population="tasks with a tool")
            )
    sessions = _sessions(created) if facts.structure == "linear_session" else []
    for name, unit in _OF_SESSIONS if sessions else ():
        sums = [session[name] for session in sessions]
        rows.append(_row(f"session.{name.removesuffix('_s')}", unit, sums, population="sessions"))
    return WorkloadReading(
        structure=facts.structure,
        tasks_planned=len(tasks),
        tasks_created=len(created),
        mocked_dependencies=dict(facts.mocked),
        rows=rows,
        form=_form(facts, created),
        sessions=sessions,
    )


def _row(
    name: str, unit: str, values: Iterable[float | int | None], *, population: str
) -> WorkloadRow:
    every = list(values)
    known = [v for v in every if v is not None]
    if not known:
        absent = "known of no member of the population" if every else "the population is empty"
    return WorkloadRow(
        name=name,
        unit=unit,
        population=population,
        n=len(known),
        of=len(every),
        mean=sum(known) / len(known) if known else None,
        least=min(known) if known else None,
        most=max(known) if known else None,
        absent=None if known else absent,
    )


def _sessions(tasks: Sequence[TaskReading]) -> list[dict[str, Any]]:
    """The four quantities of each session apart; a sum over turns is null if one of them is."""
    found: dict[str, list[TaskReading]] = {}
    for task in tasks:
        found.setdefault(task["session_id"], []).append(task)
    sessions = []
    for session_id, turns in found.items():
        sums: dict[str, Any] = {}
        for name, _ in _OF_SESSIONS:
            values = [step[name] for turn in turns for step in turn["steps"] if step["attempts"]]  # type: ignore[literal-required]
            sums[name] = None if any(v is None for v in values) else sum(values)
        starts = [s["started_ns"] for t in turns for s in t["steps"] if s["started_ns"] is not None]
        ends = [s["ended_ns"] for t in turns for s in t["steps"] if s["ended_ns"] is not None]
        sessions.append(
            {
                "session_id": session_id,
                "turns": len(turns),
                **sums,
                # From the first turn's start to the last one's end, thinking included.
                "elapsed_s": (max(ends) - min(starts)) / 1e9 if starts and ends else None,
                "is_reviewable": all(turn["is_reviewable"] for turn in turns),
            }
        )
    return sessions


def _form(facts: WorkloadFacts, tasks: Sequence[TaskReading]) -> dict[str, Any] | None:
    """Quality of the answers' form beside what it cost and how long it took."""
    if facts.form is None:
        return None
    answers = [s for t in tasks for s in t["steps"] if s["form_held"] is not None]
    first = [s for s in answers if s["regeneration_of"] is None]
    by_request: dict[str, bool] = {}
    for step in answers:
        by_request[step["regeneration_of"] or step["request_id"]] = bool(step["form_held"])
    regenerations = sum(t["regenerations"] for t in tasks)
    walls = [t["wall_s"] for t in tasks if t["wall_s"] is not None]
    return {
        "constraint": facts.form["constraint"],
        "sent_as": facts.form["sent_as"],
        "answers_checked": len(answers),
        "first_answers_held": sum(bool(s["form_held"]) for s in first),
        "first_answers": len(first),
        "requests_held": sum(by_request.values()),
        "requests": len(by_request),
        "parse_success_rate": sum(by_request.values()) / len(by_request) if by_request else None,
        "denominator": "requests with a whole answer, judged by their last one",
        "regenerations": regenerations,
        "mean_task_wall_s": sum(walls) / len(walls) if walls else None,
        "absent": None if by_request else "no whole answer came",
    }
