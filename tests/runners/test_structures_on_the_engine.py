"""A conversation and a tool task on the real engine and model: declared, planned, driven, sealed and read."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from runners.protocol import layout
from tests.runners.real_runs import execute, prepare

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

SMALL = (
    "workload.requests=2",
    "workload.output_tokens=6",
    "workload.warmup_requests=0",
    "evidence.trace.enabled=false",
)


def run(folder: Path, study: str, *overrides: str) -> Path:
    """The sealed bundle of a small run of a shipped study."""
    out = prepare(folder, *SMALL, *overrides, study=study)
    output, _ = execute(out).communicate(timeout=800)
    told = json.loads(output)
    assert told["state"] == "sealed", told
    return out / layout.BUNDLE_FOLDER


def rows(bundle: Path, name: str) -> dict[str, dict[str, Any]]:
    return {row["request_id"]: row for row in pq.read_table(bundle / name).to_pylist()}


def usage_of(bundle: Path) -> dict[str, int]:
    """The engine's own count of each attempt's prompt, from the raw reads."""
    found: dict[str, int] = {}
    for row in pq.read_table(bundle / layout.WIRE_FOLDER / "0-0.parquet").to_pylist():
        marker = b'"prompt_tokens":'
        if marker in (data := row["data"].replace(b" ", b"")):
            digits = data.split(marker, 1)[1]
            found[row["attempt_id"]] = int(digits.split(b",", 1)[0].split(b"}", 1)[0])
    return found


@pytest.mark.req("1.12")
def test_a_live_session_sends_its_own_replies_and_both_sides_count_alike(tmp_path: Path) -> None:
    bundle = run(tmp_path, "smollm2_session", "workload.session.turns=3")

    sent, counted = rows(bundle, layout.SENT_INPUTS), usage_of(bundle)
    assert sorted(sent) == [f"load-000{n}.t{t}" for n in (1, 2) for t in (2, 3)]
    for name, row in sent.items():
        # What the client counted with the pinned tokenizer is what the engine says that it was given.
        assert row["input_tokens"] == counted[f"{name}.A1"]
        assert 0 < row["history_tokens"] < row["input_tokens"]
        assert json.loads(row["messages"])[1]["content"]  # the model's own words
    assert sent["load-0001.t3"]["history_tokens"] > sent["load-0001.t2"]["history_tokens"]
    attempts = rows(bundle, layout.ATTEMPTS)
    assert attempts["load-0001.t2"]["scheduled_ns"] is None
    for n in (1, 2):  # the declared think time of 0.2 s lies between two turns
        pause_ns = attempts[f"load-000{n}.t2"]["created_ns"] - attempts[f"load-000{n}"]["ended_ns"]
        assert pause_ns >= 200_000_000


@pytest.mark.req("2.10")
def test_a_tool_task_waits_its_injected_time_and_goes_on_with_the_result(tmp_path: Path) -> None:
    bundle = run(tmp_path, "smollm2_tool_use", "workload.tool_use.call_output_tokens=8")

    sent, attempts = rows(bundle, layout.SENT_INPUTS), rows(bundle, layout.ATTEMPTS)
    assert sorted(sent) == ["load-0001.answer", "load-0002.answer"]
    for name, row in sent.items():
        call, answer = attempts[name.removesuffix(".answer")], attempts[name]
        waited_ns = answer["created_ns"] - call["ended_ns"]
        assert waited_ns >= 250_000_000  # boundary=mocked_tool: fixed_delay_s 0.25
        assert answer["end"] == "closed"
        assert row["call_source"] in ("reply", "scripted")
        assert json.loads(row["messages"])[-1]["content"].startswith("Result: ")
        assert row["input_tokens"] == usage_of(bundle)[answer["attempt_id"]]
