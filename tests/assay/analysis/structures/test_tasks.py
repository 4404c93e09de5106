"""Tasks and workload read from a plan and recorded attempts. All instants in ms, worked by hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from assay.analysis.ledgers.contract import Contract
from assay.analysis.run_reading import task_ledger
from assay.analysis.structures.planned import workload_facts
from assay.analysis.structures.reading import WorkloadReader
from assay.analysis.task_documents import TaskReading, WorkloadReading
from assay.analysis.wire.attempt import Attempt
from tests.assay.analysis.streams import DONE, MS, attempts, delta, read, row, usage
from tests.experiments.declarations import example

MODEL = example()["artifact"]["config"]
CONTRACT = Contract(name="c", deadline_s=10.0)


def planned(request: str, **more: Any) -> dict[str, Any]:
    arrival = request.partition(".")[0]
    return {
        "phase": "measure",
        "request_id": request,
        "task_id": f"T-{arrival}",
        "session_id": f"S-{arrival}",
        "input_tokens": 10,
        "is_required": True,
        "after": [],
        **more,
    }


def turn(number: int, request: str, **more: Any) -> dict[str, Any]:
    own = {"step": "turn", "turn": number, "task_id": f"T-{request}"}
    return planned(request, **own, **more)


def went(
    request: str,
    start: float,
    end: float,
    *,
    task: str | None = None,
    said: str = "a",
    counts: str = "",
    status: int = 200,
    **more: Any,
) -> list[dict[str, Any]]:
    """The recorded rows of one attempt that ended cleanly; ``counts``: its usage event."""
    arrival = request.partition(".")[0]
    name = f"{request}.A1"
    ids = {
        "request_id": request,
        "task_id": task or f"T-{arrival}",
        "session_id": f"S-{arrival}",
        "model_call_id": f"M-{request}",
    }
    body = delta(said, finish="stop", **more) + counts + DONE
    return [
        row("created", start, name, **ids),
        row("sent", start, name),
        row("headers", end, name, status=status),
        read(end, body if status == 200 else "{}", name),
        row("closed", end, name),
    ]


def cached(completion: int, prompt: int, reused: int) -> str:
    return usage(completion, prompt, prompt_tokens_details={"cached_tokens": reused})


def reading(
    plan: Sequence[Mapping[str, Any]],
    recorded: Sequence[dict[str, Any]],
    *,
    workload: Mapping[str, Any],
    sent: Sequence[Mapping[str, Any]] = (),
    dependencies: Sequence[Mapping[str, Any]] = (),
    contract: Contract = CONTRACT,
) -> tuple[list[TaskReading], WorkloadReading]:
    spec = {
        "workload": workload,
        "boundary": {"external_dependencies": list(dependencies)},
        "artifact": {"config": MODEL},
    }
    seen: list[Attempt] = attempts(*recorded)
    reader = WorkloadReader(workload_facts(spec, plan, sent, origin_ns=0))
    for attempt in seen:
        reader.take(attempt)
    ledger = list(task_ledger(seen, contract, level="E1", planned=reader.planned_tasks()))
    tasks, found = reader.read(seen, ledger, contract)
    assert found is not None
    return tasks, found


def rows_of(found: WorkloadReading) -> dict[str, Any]:
    return {r["name"]: r for r in found["rows"]}


# Sessions

SESSION = {"structure": "linear_session"}


@pytest.mark.req("1.12", "1.13")
def test_four_quantities_of_a_session_stand_apart() -> None:
    plan = [
        turn(1, "s-1", history_tokens=0),
        turn(2, "s-1.t2", input_tokens=30, history_tokens=18, after=["s-1"]),
    ]
    recorded = [
        *went("s-1", 0, 100, counts=cached(4, 10, 0)),
        *went("s-1.t2", 150, 350, task="T-s-1.t2", counts=cached(4, 30, 12)),
    ]

    tasks, found = reading(plan, recorded, workload=SESSION)

    second = tasks[1]["steps"][0]
    assert second["history_tokens"] == 18
    assert second["unreused_tokens"] == 18  # 30 of the prompt less 12 that the server reused
    assert second["wall_s"] == 0.2
    assert second["work_flops"] is not None
    assert all(task["is_reviewable"] for task in tasks)
    [session] = found["sessions"]
    assert (session["history_tokens"], session["unreused_tokens"]) == (0 + 18, 10 + 18)
    assert session["wall_s"] == pytest.approx(0.1 + 0.2)
    assert session["elapsed_s"] == 0.35  # thinking between the turns included
    assert "outcome" not in session  # a session completes nothing


@pytest.mark.req("1.12")
def test_a_turn_that_lacks_one_of_the_four_is_marked_not_reviewable() -> None:
    plan = [turn(1, "s-1", history_tokens=0)]

    [task], found = reading(plan, went("s-1", 0, 100, counts=usage(4, 10)), workload=SESSION)

    assert task["is_reviewable"] is False
    assert task["not_reviewable"] == ["unreused_tokens", "work_flops"]
    assert task["steps"][0]["absent"]["unreused_tokens"] == (
        "the server did not report cached tokens"
    )
    assert found["sessions"][0]["unreused_tokens"] is None


def test_a_turn_that_never_came_is_a_task_without_outcome() -> None:
    plan = [turn(1, "s-1", history_tokens=0), turn(2, "s-1.t2", after=["s-1"])]

    tasks, found = reading(plan, went("s-1", 0, 100, status=500), workload=SESSION)

    assert [t["outcome"] for t in tasks] == ["failure", None]
    assert tasks[1]["absent"]["outcome"] == "no request of it was created"
    assert tasks[1]["steps"][0]["client_state"] == "not created"
    assert (found["tasks_planned"], found["tasks_created"]) == (2, 1)


# Branches

BRANCHES = [
    planned("b-1", step="branch", branch="b1"),
    planned("b-1.b2", step="branch", branch="b2"),
    planned("b-1.b3", step="branch", branch="b3", is_required=False),
    planned("b-1.join", step="joining", after=["b-1", "b-1.b2"]),
]


def branches(*statuses: int, join_ms: float | None = 300) -> list[dict[str, Any]]:
    names = ("b-1", "b-1.b2", "b-1.b3")
    recorded = [
        r
        for name, status in zip(names, statuses, strict=True)
        for r in went(name, 0, 100, status=status, counts=cached(3, 10, 0))
    ]
    if join_ms is not None:
        recorded += went("b-1.join", 110, join_ms, counts=cached(5, 40, 0))
    return recorded


@pytest.mark.req("1.18", "1.15", "1.17")
def test_branches_report_the_models_work_and_the_condition_of_completion() -> None:
    [task], _ = reading(BRANCHES, branches(200, 200, 500), workload={"structure": "branching"})

    assert task["outcome"] == "success"  # the optional branch may fail
    assert task["completion"]["planned"] == {"counted": 2, "essential": 1, "optional": 1}
    assert task["completion"]["deadline_s"] == 10.0
    work = task["model_work"]
    assert task["model_calls"] == 4
    assert work["prompt_tokens"] is None  # the failed one has no usage, and it stays in sight
    assert work["absent"]["prompt_tokens"] == "not known of every call of this task"


@pytest.mark.req("1.18")
def test_the_work_of_every_branch_counts_tokens_and_state() -> None:
    [task], _ = reading(BRANCHES, branches(200, 200, 200), workload={"structure": "branching"})

    work = task["model_work"]
    assert work["prompt_tokens"] == 3 * 10 + 40
    assert work["output_tokens"] == 3 * 3 + 5
    assert work["state_tokens"] == 3 * 13 + 45


@pytest.mark.req("1.15", "1.16", "1.18")
@pytest.mark.parametrize(
    ("contract", "statuses", "join_ms", "outcome"),
    [
        (CONTRACT, (500, 200, 200), None, "failure"),
        # Two of two required held, but there is no answer without the join.
        (CONTRACT, (200, 200, 200), None, "failure"),
        (
            Contract(name="p", degradation="partial", deadline_s=10.0),
            (500, 200, 200),
            300,
            "partial_success",
        ),
        (
            Contract(name="one", all_branches_required=False, required_branches=1, deadline_s=10.0),
            (500, 200, 200),
            300,
            "success",
        ),
        # The join ended 0.3 s after the start: later than 0.25 s.
        (Contract(name="late", deadline_s=0.25), (200, 200, 200), 300, "failure"),
    ],
)
def test_the_contract_alone_judges_a_task_of_branches(
    contract: Contract, statuses: tuple[int, ...], join_ms: float | None, outcome: str
) -> None:
    [task], _ = reading(
        BRANCHES,
        branches(*statuses, join_ms=join_ms),
        workload={"structure": "branching"},
        contract=contract,
    )

    assert task["outcome"] == outcome


# Tools

CALL = {"use": "tool_call", "sent_as": "text", "names": ["f"], "scripted": None}
TOOL = [
    planned("t-1", step="tool_call", on_reply=json.dumps(CALL)),
    planned("t-1.answer", step="continuation", after=["t-1"], dependency="f"),
]
MADE = {
    **dict.fromkeys(("history_tokens", "due_ns", "regeneration_of")),
    "request_id": "t-1.answer",
    "ready_ns": 100 * MS,
    "input_tokens": 25,
    "call_source": "reply",
    "replies_of": ["t-1"],
}


@pytest.mark.req("2.09", "2.10", "2.06")
def test_call_waiting_and_continuation_are_three_times() -> None:
    recorded = [
        *went("t-1", 0, 100, said='{"name": "f", "arguments": {}}', counts=cached(3, 10, 0)),
        *went("t-1.answer", 350, 470, counts=cached(3, 25, 0)),
    ]

    [task], found = reading(
        TOOL,
        recorded,
        workload={"structure": "tool_use"},
        sent=[MADE],
        dependencies=[{"name": "f", "mocked": True, "fixed_delay_s": 0.25}],
    )

    tool = task["tool"]
    assert tool is not None
    assert tool["call_generation_s"] == pytest.approx(0.1)
    assert tool["waiting_s"] == pytest.approx(0.25)
    assert tool["continued_generation_s"] == pytest.approx(0.12)
    assert (tool["mocked"], tool["injected_s"]) == (True, 0.25)
    assert tool["placement"] == "serial"
    assert found["mocked_dependencies"] == {"f": 0.25}
    rows = rows_of(found)
    assert rows["tool.waiting"]["mean"] == pytest.approx(0.25)
    assert "tool.generation" not in rows  # no sum of the three
    call, answer = task["steps"]
    assert call["call_parsed"] is True
    assert answer["call_source"] == "reply"
    assert answer["input_tokens"] == 25


def test_a_task_without_its_continuation_has_no_answer() -> None:
    [task], _ = reading(
        TOOL,
        went("t-1", 0, 100, said="no call", counts=cached(3, 10, 0)),
        workload={"structure": "tool_use"},
    )

    assert task["outcome"] == "failure"  # one completed request is not the task
    assert task["steps"][0]["call_parsed"] is False
    assert task["tool"] is not None
    assert task["tool"]["waiting_s"] is None
    assert task["tool"]["absent"]["waiting_s"] == "the task ended before it"


# Structured output, reasoning, media

FORM: dict[str, Any] = {
    "use": "check",
    "constraint": "json_object",
    "schema": None,
    "pattern": None,
    "choices": [],
}
STRUCTURED = {"structured": {"constraint": "json_object", "sent_as": "response_format"}}


@pytest.mark.req("10.29", "10.32")
def test_regenerations_are_cost_and_quality_stands_beside_time() -> None:
    plan = [planned(name, on_reply=json.dumps(FORM)) for name in ("f-1", "f-2")]
    again = {
        **dict.fromkeys(("input_tokens", "history_tokens", "due_ns", "call_source", "replies_of")),
        "request_id": "f-1.R1",
        "task_id": "T-f-1",
        "session_id": "S-f-1",
        "step": "regeneration",
        "regeneration_of": "f-1",
        "ready_ns": 100 * MS,
    }
    recorded = [
        *went("f-1", 0, 100, said="prose", counts=cached(7, 10, 0)),
        *went("f-1.R1", 100, 300, said='{"a": 1}', counts=cached(5, 10, 0)),
        *went("f-2", 0, 100, said='{"a": 2}', counts=cached(5, 10, 0)),
    ]

    tasks, found = reading(plan, recorded, workload=STRUCTURED, sent=[again])

    first = tasks[0]
    assert (first["model_calls"], first["regenerations"], first["requests_planned"]) == (2, 1, 1)
    assert first["model_work"]["output_tokens"] == 5
    assert first["model_work"]["regenerated_output_tokens"] == 7
    assert first["steps"][0]["form_problem"].startswith("not JSON")  # type: ignore[union-attr]
    form = found["form"]
    assert form is not None
    # First answers: 1 of 2 held. Requests by their last answer: 2 of 2.
    assert (form["first_answers_held"], form["first_answers"]) == (1, 2)
    assert form["parse_success_rate"] == 1.0
    assert form["regenerations"] == 1
    assert form["mean_task_wall_s"] == pytest.approx((0.3 + 0.1) / 2)
    assert rows_of(found)["task.model_calls"]["mean"] == 1.5


@pytest.mark.req("10.27")
def test_internal_visible_and_billed_tokens_are_three_counts_and_two_instants() -> None:
    name = "r-1.A1"
    ids = {"request_id": "r-1", "task_id": "T-r-1", "session_id": "S-r-1"}
    counts = usage(9, 10, completion_tokens_details={"reasoning_tokens": 6})
    recorded = [
        row("created", 0, name, **ids),
        row("sent", 0, name),
        row("headers", 40, name, status=200),
        read(50, delta(reasoning_content="hm"), name),
        read(80, delta("yes", finish="stop") + counts + DONE, name),
        row("closed", 80, name),
    ]

    [task], _ = reading([planned("r-1")], recorded, workload={"reasoning": {"effort": "low"}})

    [step] = task["steps"]
    assert (step["internal_tokens"], step["visible_tokens"], step["billed_tokens"]) == (6, 3, 9)
    assert (step["first_internal_ns"], step["first_visible_ns"]) == (50 * MS, 80 * MS)


@pytest.mark.forbids
@pytest.mark.req("10.30", "10.31")
def test_media_tokens_and_times_are_null_unless_the_server_says_them() -> None:
    image = {"kind": "image", "width": 20, "height": 12, "duration_s": None, "chunking": None}

    [task], _ = reading(
        [planned("m-1", input_tokens=None)],
        went("m-1", 0, 100, counts=cached(3, 900, 0)),
        workload={"media": [image, image]},
    )

    first = task["media"][0]
    assert (first["kind"], first["width"], first["height"]) == ("image", 20, 12)
    for name in ("tokens", "fetch_s", "decode_s", "preprocess_s", "encode_s"):
        assert first[name] is None
        assert first["absent"][name]
    assert task["steps"][0]["prompt_tokens"] == 900  # the server's own count, not split by us
