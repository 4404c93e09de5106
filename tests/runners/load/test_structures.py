"""What one arrival becomes in the plan: ids, order, delays, and token counts where they can be known."""

import json

import pytest

from tests.runners.artifacts import real
from tests.runners.load.structured_plans import (
    BRANCHING,
    DEFINITION,
    SESSION,
    STRUCTURED,
    TOOL_USE,
    by_id,
    declared,
    plan_of,
    prompts_of,
)


@pytest.mark.req("1.02", "1.03")
def test_each_turn_is_a_task_of_its_own_in_one_session_that_is_no_task() -> None:
    rows = by_id(plan_of(declared("linear_session", SESSION)))

    assert list(rows) == [f"load-000{n}{turn}" for n in (1, 2) for turn in ("", ".t2", ".t3")]
    first = [rows[name] for name in ("load-0001", "load-0001.t2", "load-0001.t3")]
    assert [r["task_id"] for r in first] == ["T-load-0001", "T-load-0001.t2", "T-load-0001.t3"]
    assert {r["session_id"] for r in first} == {"S-load-0001"}
    assert [r["after"] for r in first] == [[], ["load-0001"], ["load-0001", "load-0001.t2"]]
    assert [r["turn"] for r in first] == [1, 2, 3]
    assert [r["slot"] for r in first] == [0, None, None]  # only the session's start is paced


@pytest.mark.req("1.12")
def test_a_scripted_session_is_counted_whole_before_the_run() -> None:
    plan = plan_of(declared("linear_session", {**SESSION, "history": "scripted"}))

    rows = by_id(plan)
    prompts = prompts_of(plan)
    for name in ("load-0001", "load-0001.t2", "load-0001.t3"):
        row = rows[name]
        prompt = prompts[row["prompt_ref"]]
        ids = real.encoder().encode(real.encoder().render(json.loads(prompt["messages"])))
        assert prompt["token_ids"] == ids
        assert row["input_tokens"] == len(ids)
    # Each later turn adds the answer before it with its end (8 words, <|im_end|>, newline: 10 tokens), the
    # user's message (<|im_start|> user newline, 6 words, <|im_end|> newline: 11) and the prompt for the next
    # answer (<|im_start|> ass istant newline: 4), 25 in all. Alone, the message of 6 words takes 36: the
    # template writes 30 around it, its own system prompt among them.
    first = [rows[n] for n in ("load-0001", "load-0001.t2", "load-0001.t3")]
    assert [r["input_tokens"] for r in first] == [40, 65, 90]
    assert [r["history_tokens"] for r in first] == [0, 65 - 36, 90 - 36]


@pytest.mark.req("1.12")
def test_a_live_turn_claims_no_count_before_its_reply_exists() -> None:
    plan = plan_of(declared("linear_session", SESSION))

    later = by_id(plan)["load-0001.t2"]
    assert later["input_tokens"] is None
    assert later["input_sha256"] is None
    assert later["history_tokens"] is None
    assert prompts_of(plan)[later["prompt_ref"]]["token_ids"] is None
    assert plan.summary["load"]["uncounted_inputs"] == 4  # turns 2 and 3 of two sessions


def test_branches_share_a_task_and_the_join_waits_for_the_required_ones() -> None:
    plan = plan_of(declared("branching", BRANCHING))

    rows = by_id(plan)
    first = [rows[f"load-0001{suffix}"] for suffix in ("", ".b2", ".b3", ".join")]
    assert {r["task_id"] for r in first} == {"T-load-0001"}
    assert [r["is_required"] for r in first] == [True, True, False, True]
    assert [r["branch"] for r in first] == ["b1", "b2", "b3", None]
    assert [r["slot"] for r in first] == [0, 0, 0, None]
    join = first[-1]
    assert join["after"] == ["load-0001", "load-0001.b2"]
    assert (join["after_completed"], join["after_least"]) == (2, 2)
    assert join["output_cap"] == 9
    said = [
        json.loads(prompts_of(plan)[r["prompt_ref"]]["messages"])[0]["content"].split()[:4]
        for r in first[:3]
    ]
    assert said[0] == said[1] == said[2]  # the task's own prefix


def test_a_contract_that_allows_a_partial_answer_lets_the_join_go_with_one_branch() -> None:
    document = declared("branching", BRANCHING)
    document["contract"] |= {"degradation": "partial", "all_branches_required": False}

    join = by_id(plan_of(document))["load-0001.join"]

    assert (join["after_completed"], join["after_least"]) == (1, 1)


@pytest.mark.req("2.10")
def test_the_injected_delay_stands_between_the_call_and_the_continued_answer() -> None:
    plan = plan_of(declared("tool_use", TOOL_USE))

    call, answer = (by_id(plan)[f"load-0001{suffix}"] for suffix in ("", ".answer"))
    assert (call["step"], answer["step"]) == ("tool_call", "continuation")
    assert answer["after"] == ["load-0001"]
    assert answer["after_delay_ns"] == 100_000_000  # LOOK_UP's 0.1 s
    assert answer["dependency"] == "look_up"
    assert call["output_cap"] == 16
    system = json.loads(prompts_of(plan)[call["prompt_ref"]]["messages"])[0]
    assert system["role"] == "system"
    assert '"look_up"' in system["content"]


def test_definitions_in_the_api_field_are_in_both_bodies_and_not_in_the_messages() -> None:
    plan = plan_of(declared("tool_use", {**TOOL_USE, "sent_as": "tools"}))

    call, answer = (by_id(plan)[f"load-0001{suffix}"] for suffix in ("", ".answer"))
    for row in (call, answer):
        assert json.loads(row["members"])["tools"][0]["function"] == DEFINITION
    assert "look_up" not in prompts_of(plan)[call["prompt_ref"]]["messages"]
    assert call["input_tokens"] is None  # the server expands the definitions


@pytest.mark.parametrize(
    ("rule", "sent"),
    [
        ({}, {"response_format": {"type": "json_object"}}),
        (
            {"constraint": "json_schema", "schema": '{"type":"object"}'},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
                }
            },
        ),
        ({"constraint": "regex", "pattern": "a+", "sent_as": "guided"}, {"guided_regex": "a+"}),
        (
            {"constraint": "choice", "choices": ["yes", "no"], "sent_as": "guided"},
            {"guided_choice": ["yes", "no"]},
        ),
    ],
)
def test_a_constraint_is_sent_in_the_declared_field(
    rule: dict[str, object], sent: dict[str, object]
) -> None:
    row = by_id(plan_of(declared(structured={**STRUCTURED, **rule})))["load-0001"]

    assert json.loads(row["members"]) == sent
    assert json.loads(row["on_reply"])["regenerations"] == 2


@pytest.mark.parametrize(
    ("rule", "sent"),
    [
        (
            {"sent_as": "reasoning_effort", "effort": "low", "enabled": None},
            {"reasoning_effort": "low"},
        ),
        (
            {"sent_as": "enable_thinking", "effort": None, "enabled": False},
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
    ],
)
def test_the_reasoning_setting_is_sent_in_the_documented_field(
    rule: dict[str, object], sent: dict[str, object]
) -> None:
    row = by_id(plan_of(declared(reasoning=rule)))["load-0001"]

    assert json.loads(row["members"]) == sent


def test_of_reasoning_that_is_only_read_nothing_is_sent() -> None:
    rule = {"sent_as": "unsent", "effort": None, "enabled": None, "tags": ["<think>", "</think>"]}

    assert by_id(plan_of(declared(reasoning=rule)))["load-0001"]["members"] is None


@pytest.mark.req("10.31")
def test_an_image_is_sent_whole_and_claims_no_tokens() -> None:
    image = {"kind": "image", "width": 20, "height": 12, "duration_s": None, "chunking": None}
    plan = plan_of(declared(media=[image]))

    rows, prompts = by_id(plan), prompts_of(plan)
    urls = []
    for name in ("load-0001", "load-0002"):
        [message] = json.loads(prompts[rows[name]["prompt_ref"]]["messages"])
        urls.append(message["content"][0]["image_url"]["url"])
        assert rows[name]["input_tokens"] is None
    assert urls[0] != urls[1]
    assert urls[0].startswith("data:image/png;base64,iVBOR")
