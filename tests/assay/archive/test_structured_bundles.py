"""Each structure from its declaration to its reading: planned, driven over HTTP, sealed, interpreted."""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.archive.derived_schemas import TASKS
from assay.archive.interpretation import interpret
from assay.archive.stored_reading import INTERPRETATION
from runners.evidence.sent_inputs import count_sent_inputs
from runners.load.materialise import write
from runners.protocol import layout, manifest
from runners.protocol.segment_reader import to_parquet
from runners.protocol.tables import SENT_INPUTS
from tests.assay.analysis.streams import DONE, delta, usage
from tests.assay.archive import written
from tests.assay.archive.interpretable import observation
from tests.runners.artifacts import real
from tests.runners.load.drives import drive_against, load_of
from tests.runners.load.servers import HEAD_CHUNKED, LAST_CHUNK, Exchange, chunk
from tests.runners.load.structured_plans import (
    BRANCHING,
    SESSION,
    STRUCTURED,
    TOOL_USE,
    declared,
    plan_of,
    prompts_of,
)

Says = Callable[[Exchange], str]
CALL = '{"name": "look_up", "arguments": {"word": "x"}}'


def server(says: Says) -> Callable[[Exchange], Awaitable[None]]:
    """Answers with three tokens of output, a prompt of 50 and 20 of it reused."""

    async def behave(exchange: Exchange) -> None:
        counts = usage(3, 50, prompt_tokens_details={"cached_tokens": 20})
        body = delta(says(exchange), finish="stop", ids=[1, 2, 3]) + counts + DONE
        await exchange.send(HEAD_CHUNKED + chunk(body.encode()) + LAST_CHUNK)

    return behave


def read(
    document: Mapping[str, Any], says: Says, folder: Path
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The run's reading, and its tasks by id."""
    paced = {**document, "load": {**document["load"], "concurrency": 1}}
    plan = plan_of(paced)
    drive_against(
        server(says),
        folder,
        rows=list(plan.plan),
        prompts=prompts_of(plan),
        load=load_of(concurrency=1),
    )
    bundle = folder / "bundle"
    write(plan, bundle)
    if list((folder / "segments").glob("sent_inputs*")):
        to_parquet(folder / "segments", "sent_inputs", bundle / layout.SENT_INPUTS, SENT_INPUTS)
        files = {real.NAME: str(real.path())}
        assert count_sent_inputs(bundle, document["artifact"], files, keeps_content=True) == []
    documents = {
        layout.SPEC: paced,
        layout.IDENTITY: {"artifact": None, "run": [], "complete": False, "missing": []},
        layout.OBSERVATION: observation(),
        layout.CLOCKS: {"origin_ns": "0", "client_domain": "boot/1/monotonic", "domains": []},
    }
    for name, content in documents.items():
        (bundle / name).write_bytes(manifest.canonical(content))
    (bundle / layout.SESSION).write_bytes(b"")
    manifest.build(bundle, header={"state": "sealed", "run_id": None, "execution_id": None})
    path = interpret(bundle, folder / "derived")
    rows = pq.read_table(path.parent / TASKS).to_pylist()
    found = [json.loads(row["reading"]) for row in rows]
    return json.loads(path.read_bytes()), {task["task_id"]: task for task in found}


@pytest.mark.parametrize(
    ("tags", "parts"),
    [
        (["<think>", "</think>"], ("hm", "yes")),
        (None, ("", "<think>hm</think>yes")),
    ],
)
def test_reasoning_in_the_answer_is_parted_by_declared_tags_alone(
    tags: list[str] | None, parts: tuple[str, str], tmp_path: Path
) -> None:
    rule = {"sent_as": "unsent", "effort": None, "enabled": None, "tags": tags}
    document = declared(reasoning=rule, requests=1)

    read(document, lambda e: "<think>hm</think>yes", tmp_path)

    [derived] = (tmp_path / "derived").rglob(INTERPRETATION)
    attempts = written.read(derived.parent)["attempts"]
    loaded = [a for a in attempts if a["segment"] == "load"]
    assert [(a["reasoning_text"], a["text"]) for a in loaded] == [parts]


def row(reading: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [r for r in reading["workload"]["rows"] if r["name"] == name]
    return dict(found)


@pytest.mark.req("1.12")
def test_a_live_session_is_reviewable_turn_by_turn(tmp_path: Path) -> None:
    reading, tasks = read(
        declared("linear_session", SESSION), lambda e: f"reply {e.number}", tmp_path
    )

    third = tasks["T-load-0001.t3"]
    [step] = third["steps"]
    ids = pq.read_table(tmp_path / "bundle" / layout.SENT_INPUTS).to_pylist()[1]["token_ids"]
    assert step["input_tokens"] == len(ids)
    assert 0 < step["history_tokens"] < step["input_tokens"]
    assert step["unreused_tokens"] == 50 - 20
    assert step["work_flops"] > 0
    assert third["is_reviewable"] is True
    assert {t["outcome"] for t in tasks.values()} == {"success"}
    assert row(reading, "session.unreused_tokens")["mean"] == 3 * 30
    assert reading["ledger_counts"]["task"] == {"success": 6}  # turns; sessions complete nothing


@pytest.mark.req("1.18")
def test_a_task_of_branches_is_one_task_with_all_its_work(tmp_path: Path) -> None:
    reading, tasks = read(declared("branching", BRANCHING), lambda e: "part", tmp_path)

    task = tasks["T-load-0001"]
    assert task["outcome"] == "success"
    assert task["model_calls"] == 4
    assert task["model_work"]["output_tokens"] == 4 * 3
    assert task["model_work"]["state_tokens"] == 4 * 53
    assert task["completion"]["planned"] == {"counted": 2, "essential": 1, "optional": 1}
    assert row(reading, "task.model_calls")["mean"] == 4.0
    assert reading["ledger_counts"]["task"] == {"success": 2}


@pytest.mark.req("2.06", "2.09", "2.10")
def test_a_tool_task_keeps_its_three_times_and_marks_the_mocked_function(tmp_path: Path) -> None:
    reading, tasks = read(
        declared("tool_use", TOOL_USE), lambda e: CALL if e.number % 2 == 0 else "done", tmp_path
    )

    tool = tasks["T-load-0001"]["tool"]
    assert 0.1 <= tool["waiting_s"] < 0.2  # LOOK_UP: fixed_delay_s 0.1
    assert tool["call_generation_s"] < 0.1
    assert tool["mocked"] is True
    assert tool["placement"] == "serial"
    assert tasks["T-load-0001"]["steps"][0]["call_parsed"] is True
    assert reading["workload"]["mocked_dependencies"] == {"look_up": 0.1}


@pytest.mark.req("10.29", "10.32")
def test_an_answer_that_was_asked_for_again_is_cost_and_no_output(tmp_path: Path) -> None:
    document = declared(structured=STRUCTURED, requests=1)

    reading, tasks = read(document, lambda e: "{}" if e.number == 1 else "prose", tmp_path)

    task = tasks["T-load-0001"]
    assert (task["regenerations"], task["model_calls"], task["outcome"]) == (1, 2, "success")
    assert task["model_work"]["output_tokens"] == 3
    assert task["model_work"]["regenerated_output_tokens"] == 3
    form = reading["workload"]["form"]
    assert (form["first_answers_held"], form["requests_held"], form["requests"]) == (0, 1, 1)
    differences = reading["reconciliation"]["differences"]
    assert (
        "requests seen exceed offered by 1: answers without their form, asked for again"
        in differences
    )
    assert not [d for d in differences if d.startswith("unexplained")]
    ours = ("throughput.output_tokens", "throughput.output_tokens.completed")
    rates = [a["population"] for a in reading["aggregates"] if a["rule"] in ours]
    assert len(rates) == 2
    assert all(words.endswith("answers asked for again left out") for words in rates)


def test_a_table_of_tasks_says_nothing_of_single_requests(tmp_path: Path) -> None:
    reading, tasks = read(declared(), lambda e: "a", tmp_path)

    assert reading["workload"] is None
    assert tasks == {}
