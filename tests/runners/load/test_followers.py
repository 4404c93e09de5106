"""Sessions, branches, tool calls and regenerations, driven against a real server over HTTP."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from runners.load.limits import StopReason
from runners.protocol.segment_reader import to_parquet
from runners.protocol.tables import SENT_INPUTS
from tests.runners.load.drives import Outcome, drive_against, load_of
from tests.runners.load.servers import (
    HEAD_CHUNKED,
    Exchange,
    answer,
    chunk,
    event,
    plain,
    says_nothing,
)
from tests.runners.load.structured_plans import (
    BRANCHING,
    DEFINITION,
    SESSION,
    STRUCTURED,
    TOOL_USE,
    declared,
    plan_of,
    prompts_of,
)

MS = 1_000_000
Behaviour = Callable[[Exchange], Awaitable[None]]


def drive_plan(
    document: Mapping[str, Any], behaviour: Behaviour, folder: Path, **load: Any
) -> Outcome:
    concurrency = load.get("concurrency")
    paced = {**document, "load": {**document["load"], "concurrency": concurrency}}
    plan = plan_of(paced if concurrency else document)
    return drive_against(
        behaviour,
        folder,
        rows=list(plan.plan),
        prompts=prompts_of(plan),
        load=load_of(**load),
    )


def sent_inputs(folder: Path) -> dict[str, dict[str, Any]]:
    target = folder / "sent_inputs.parquet"
    to_parquet(folder / "segments", "sent_inputs", target, SENT_INPUTS)
    return {row["request_id"]: row for row in pq.read_table(target).to_pylist()}


def bodies(outcome: Outcome) -> dict[str, dict[str, Any]]:
    return {e.attempt_id.rpartition(".A")[0]: e.document for e in outcome.server.exchanges}


def says(text_of: Callable[[Exchange], str]) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await exchange.send(answer([text_of(exchange)]))

    return behave


def names_itself(exchange: Exchange) -> str:
    return f"answer to {exchange.attempt_id}"


@pytest.mark.req("1.12")
def test_each_live_turn_holds_the_replies_that_this_run_got(tmp_path: Path) -> None:
    outcome = drive_plan(
        declared("linear_session", SESSION), says(names_itself), tmp_path, concurrency=2
    )

    assert outcome.report.stop_reason is StopReason.plan_done
    assert (outcome.report.offered, outcome.report.created) == (6, 6)
    third = bodies(outcome)["load-0001.t3"]["messages"]
    assert [m["role"] for m in third] == ["user", "assistant", "user", "assistant", "user"]
    assert third[1]["content"] == "answer to load-0001.A1"
    assert third[3]["content"] == "answer to load-0001.t2.A1"
    recorded = sent_inputs(tmp_path)
    assert sorted(recorded) == [f"load-000{n}.t{t}" for n in (1, 2) for t in (2, 3)]
    assert json.loads(recorded["load-0001.t3"]["messages"]) == third
    assert recorded["load-0001.t3"]["replies_of"] == ["load-0001", "load-0001.t2"]


def test_the_recorded_body_is_the_one_that_arrived_and_its_length_is_right(tmp_path: Path) -> None:
    # The server reads exactly Content-Length bytes: a wrong length would break the JSON or the next request.
    outcome = drive_plan(
        declared("linear_session", SESSION), says(lambda _: "é" * 300), tmp_path, concurrency=1
    )

    assert outcome.server.connections == 1
    assert len(outcome.server.exchanges) == 6
    assert bodies(outcome)["load-0002.t2"]["messages"][1]["content"] == "é" * 300


def test_one_slot_runs_one_session_to_its_end_before_the_next(tmp_path: Path) -> None:
    outcome = drive_plan(
        declared("linear_session", SESSION), says(names_itself), tmp_path, concurrency=1
    )

    by_send = sorted(outcome.attempts.values(), key=lambda a: a["sent_ns"])
    sessions = [a["session_id"] for a in by_send]
    assert sessions == ["S-load-0001"] * 3 + ["S-load-0002"] * 3
    ends = [a["ended_ns"] for a in by_send]
    assert all(a["sent_ns"] >= end for a, end in zip(by_send[1:], ends, strict=False))


def test_sessions_arrive_at_their_rate_and_turns_have_no_schedule(tmp_path: Path) -> None:
    document = declared("linear_session", {**SESSION, "think_time_s": 0.03})
    document["load"] |= {"kind": "constant", "concurrency": None, "rate_per_s": 20.0}

    outcome = drive_plan(document, says(names_itself), tmp_path, kind="constant", rate_per_s=20.0)

    attempts = {a["request_id"]: a for a in outcome.attempts.values()}
    starts = [attempts[f"load-000{n}"]["scheduled_ns"] for n in (1, 2)]
    assert starts[1] - starts[0] == 50 * MS  # 1 / 20 per s
    for number in (1, 2):
        turns = [attempts[f"load-000{number}{turn}"] for turn in ("", ".t2", ".t3")]
        assert [t["scheduled_ns"] is None for t in turns] == [False, True, True]
        for before, after in pairwise(turns):
            assert after["created_ns"] - before["ended_ns"] >= 30 * MS
    assert outcome.report.ends == {"closed": 6}


def test_thinking_longer_than_the_drain_does_not_cut_a_session(tmp_path: Path) -> None:
    document = declared("linear_session", {**SESSION, "turns": 2, "think_time_s": 0.4})

    outcome = drive_plan(document, says(names_itself), tmp_path, concurrency=2, drain_s=0.1)

    assert outcome.report.ends == {"closed": 4}
    assert outcome.report.not_created == 0


def test_a_failed_turn_ends_its_session_and_the_rest_is_accounted_for(tmp_path: Path) -> None:
    async def fails_second(exchange: Exchange) -> None:
        failing = exchange.attempt_id == "load-0001.t2.A1"
        await exchange.send(plain("400 Bad Request", b"{}") if failing else answer(["ok"]))

    outcome = drive_plan(declared("linear_session", SESSION), fails_second, tmp_path, concurrency=1)

    report = outcome.report
    assert (report.offered, report.created, report.not_created) == (6, 5, 1)
    assert report.not_created_why == {"turn: 1 of 2 requests before it completed": 1}
    assert report.stop_reason is StopReason.plan_done
    assert "load-0001.t3" not in {a["request_id"] for a in outcome.attempts.values()}


def test_a_turn_that_was_tried_again_goes_on_with_the_reply_of_its_last_try(tmp_path: Path) -> None:
    async def busy_once(exchange: Exchange) -> None:
        if exchange.attempt_id == "load-0001.A1":
            await exchange.send(plain("503 Service Unavailable", b"{}"))
        else:
            await exchange.send(answer([exchange.attempt_id]))

    outcome = drive_plan(
        declared("linear_session", SESSION),
        busy_once,
        tmp_path,
        concurrency=1,
        retry={"count": 1, "backoff_s": 0.01},
    )

    second = bodies(outcome)["load-0001.t2"]["messages"]
    assert second[1]["content"] == "load-0001.A2"
    assert outcome.report.created == 6
    assert outcome.report.attempts == 7


def test_a_turn_that_the_client_cancels_ends_its_session(tmp_path: Path) -> None:
    async def second_goes_on(exchange: Exchange) -> None:
        if exchange.attempt_id == "load-0001.t2.A1":
            await exchange.send(HEAD_CHUNKED + chunk(event("a")))
            await exchange.closed_by_client()
        else:
            await exchange.send(answer(["a"]))

    plan = plan_of(declared("linear_session", SESSION, requests=1))
    rows = [dict(row) for row in plan.plan]
    rows[1]["cancel_after_chunks"] = 1

    outcome = drive_against(
        second_goes_on,
        tmp_path,
        rows=rows,
        prompts=prompts_of(plan),
        load=load_of(concurrency=1),
    )

    assert outcome.report.ends == {"cancel": 1, "closed": 1}
    assert outcome.report.not_created == 1


def test_an_error_event_inside_a_200_ends_the_session_too(tmp_path: Path) -> None:
    async def error_inside(exchange: Exchange) -> None:
        body = b'data: {"error":{"message":"out of memory"}}\n\n'
        await exchange.send(plain("200 OK", body, "Content-Type: text/event-stream"))

    outcome = drive_plan(
        declared("linear_session", SESSION, requests=1), error_inside, tmp_path, concurrency=1
    )

    assert outcome.report.ends == {"closed": 1}
    assert outcome.report.not_created == 2


# Branches


@pytest.mark.req("1.18")
def test_branches_go_together_and_the_join_reads_the_required_replies(tmp_path: Path) -> None:
    async def slow_branches(exchange: Exchange) -> None:
        await asyncio.sleep(0 if exchange.attempt_id.startswith("load-0001.join") else 0.1)
        await exchange.send(answer([exchange.attempt_id]))

    outcome = drive_plan(
        declared("branching", BRANCHING, requests=1), slow_branches, tmp_path, concurrency=1
    )

    attempts = {a["request_id"]: a for a in outcome.attempts.values()}
    sent = [attempts[f"load-0001{suffix}"]["sent_ns"] for suffix in ("", ".b2", ".b3")]
    assert max(sent) - min(sent) < 50 * MS  # under half of the time that one takes
    join = attempts["load-0001.join"]
    assert join["created_ns"] >= max(attempts[n]["ended_ns"] for n in ("load-0001", "load-0001.b2"))
    [message] = bodies(outcome)["load-0001.join"]["messages"]
    assert message["content"].endswith("\nload-0001.A1\nload-0001.b2.A1")
    assert outcome.report.created == 4


@pytest.mark.parametrize(
    ("contract", "created", "last_line"),
    [
        # Both required branches must hold: one failed, so there is nothing to join.
        ({"degradation": "none", "all_branches_required": True}, 3, None),
        # A partial answer counts: the join goes with the one reply there is, the other's place is empty.
        ({"degradation": "partial", "all_branches_required": True}, 4, "\n\nload-0001.b2.A1"),
    ],
)
def test_a_failed_branch_is_met_as_the_contract_says(
    tmp_path: Path, contract: dict[str, Any], created: int, last_line: str | None
) -> None:
    async def first_fails(exchange: Exchange) -> None:
        failing = exchange.attempt_id == "load-0001.A1"
        reply = plain("400 Bad Request", b"{}") if failing else answer([exchange.attempt_id])
        await exchange.send(reply)

    document = declared("branching", BRANCHING, requests=1)
    document["contract"] |= contract

    outcome = drive_plan(document, first_fails, tmp_path, concurrency=1)

    assert outcome.report.created == created
    found = bodies(outcome).get("load-0001.join")
    assert (found is None) == (last_line is None)
    if found is not None and last_line is not None:
        assert found["messages"][0]["content"].endswith(last_line)


def test_two_of_three_let_the_join_go_while_the_third_is_still_open(tmp_path: Path) -> None:
    async def third_hangs(exchange: Exchange) -> None:
        if exchange.attempt_id == "load-0001.b3.A1":
            await says_nothing(exchange)
        else:
            await exchange.send(answer([exchange.attempt_id]))

    document = declared("branching", {**BRANCHING, "optional": 0}, requests=1)
    document["contract"] |= {"all_branches_required": False, "required_branches": 2}

    outcome = drive_plan(
        document, third_hangs, tmp_path, concurrency=1, timeouts={"first_byte_s": 0.5}
    )

    attempts = {a["request_id"]: a for a in outcome.attempts.values()}
    assert attempts["load-0001.join"]["ended_ns"] < attempts["load-0001.b3"]["ended_ns"]
    assert attempts["load-0001.b3"]["end"] == "timeout"


# Tools


def calls_in_field(exchange: Exchange) -> bytes:
    call = {"index": 0, "id": "c7", "function": {"name": "look_up", "arguments": '{"word": "x"}'}}
    document = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}
    body = b"data: " + json.dumps(document).encode() + b"\n\ndata: [DONE]\n\n"
    return plain("200 OK", body, "Content-Type: text/event-stream")


@pytest.mark.req("2.10")
def test_the_function_takes_its_injected_time_between_call_and_answer(tmp_path: Path) -> None:
    said = 'I call {"name": "look_up", "arguments": {"word": "x"}} now'

    outcome = drive_plan(
        declared("tool_use", TOOL_USE, requests=1), says(lambda _: said), tmp_path, concurrency=1
    )

    attempts = {a["request_id"]: a for a in outcome.attempts.values()}
    waited = attempts["load-0001.answer"]["created_ns"] - attempts["load-0001"]["ended_ns"]
    assert 100 * MS <= waited < 150 * MS  # fixed_delay_s 0.1
    messages = bodies(outcome)["load-0001.answer"]["messages"]
    assert messages[2] == {"role": "assistant", "content": said}
    assert messages[3]["content"].startswith("Result: ")
    assert sent_inputs(tmp_path)["load-0001.answer"]["call_source"] == "reply"


def test_a_call_in_the_api_field_is_filled_back_in_the_api_field(tmp_path: Path) -> None:
    async def behave(exchange: Exchange) -> None:
        await exchange.send(calls_in_field(exchange))

    document = declared("tool_use", {**TOOL_USE, "sent_as": "tools"}, requests=1)
    outcome = drive_plan(document, behave, tmp_path, concurrency=1)

    found = bodies(outcome)
    assert found["load-0001"]["tools"][0]["function"] == DEFINITION
    *_, assistant, tool = found["load-0001.answer"]["messages"]
    assert assistant["content"] is None
    assert assistant["tool_calls"] == [
        {
            "id": "c7",
            "type": "function",
            "function": {"name": "look_up", "arguments": '{"word": "x"}'},
        }
    ]
    assert tool["tool_call_id"] == "c7"


@pytest.mark.parametrize(
    ("fallback", "created", "source"),
    [("scripted", 2, "scripted"), ("none", 1, None)],
)
def test_a_reply_without_a_call_is_recorded_as_such(
    tmp_path: Path, fallback: str, created: int, source: str | None
) -> None:
    rule = {**TOOL_USE, "tool_call": fallback}
    if fallback == "none":
        rule["scripted_call"] = None

    outcome = drive_plan(
        declared("tool_use", rule, requests=1), says(lambda _: "no call"), tmp_path, concurrency=1
    )

    assert outcome.report.created == created
    if source is None:
        assert outcome.report.not_created == 1
        return
    row = sent_inputs(tmp_path)["load-0001.answer"]
    assert row["call_source"] == source
    assert row["detail"] == "the reply holds no call of a declared tool that can be parsed"
    assistant = bodies(outcome)["load-0001.answer"]["messages"][2]
    assert json.loads(assistant["content"])["arguments"] == {"word": "assay"}


# Structured output


@pytest.mark.req("10.29")
@pytest.mark.parametrize(
    ("good_at", "requests", "regenerations"),
    [(0, ["load-0001"], 0), (1, ["load-0001", "load-0001.R1"], 1), (9, None, 2)],
)
def test_an_answer_without_its_form_is_asked_for_again_so_many_times(
    tmp_path: Path, good_at: int, requests: list[str] | None, regenerations: int
) -> None:
    outcome = drive_plan(
        declared(structured=STRUCTURED, requests=1),
        says(lambda e: '{"a": 1}' if e.number >= good_at else '{"a":'),
        tmp_path,
        concurrency=1,
    )

    seen = [a["request_id"] for a in outcome.attempts.values()]
    assert seen == (requests or ["load-0001", "load-0001.R1", "load-0001.R2"])
    report = outcome.report
    assert (report.offered, report.created, report.not_created) == (1, 1, 0)
    assert report.regenerations == regenerations
    assert report.stop_reason is StopReason.plan_done
    ids = {a["model_call_id"] for a in outcome.attempts.values()}
    assert len(ids) == 1 + regenerations  # each is a model call of its own, of one task
    assert {a["task_id"] for a in outcome.attempts.values()} == {"T-load-0001"}
    if regenerations:
        first = sent_inputs(tmp_path)["load-0001.R1"]
        assert first["regeneration_of"] == "load-0001"
        assert first["detail"].startswith("not JSON")
        seeds = [b["seed"] for b in bodies(outcome).values()]
        assert len(set(seeds)) == len(seeds)


def test_a_session_goes_on_with_the_regenerated_answer(tmp_path: Path) -> None:
    document = declared(
        "linear_session", {**SESSION, "turns": 2}, structured=STRUCTURED, requests=1
    )

    outcome = drive_plan(
        document,
        says(lambda e: '{"ok": 1}' if ".R" in e.attempt_id else "prose"),
        tmp_path,
        concurrency=1,
    )

    found = bodies(outcome)
    assert list(found) == ["load-0001", "load-0001.R1", "load-0001.t2", "load-0001.t2.R1"]
    assert found["load-0001.t2"]["messages"][1]["content"] == '{"ok": 1}'
    assert found["load-0001.t2.R1"]["messages"] == found["load-0001.t2"]["messages"]


def test_a_plan_of_single_requests_opens_no_stream_for_made_inputs(tmp_path: Path) -> None:
    drive_plan(declared(), says(names_itself), tmp_path, concurrency=1)

    assert not list((tmp_path / "segments").glob("sent_inputs*"))
