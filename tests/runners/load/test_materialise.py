"""The plan is made whole before anything starts, and it follows from the declaration alone."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from runners.load.file_prompts import open_file
from runners.load.materialise import Materialised, materialise, plan_digest, write
from runners.load.trace_formats import TraceRow
from runners.prepare import SAMPLES
from runners.protocol.errors import Refused
from runners.protocol.tables import PLAN, PROMPTS
from tests.experiments.declarations import changed, example
from tests.runners.artifacts import real


def fresh(document: dict[str, Any]) -> Materialised:
    return materialise(
        document, real.encoder(), tokenizer_sha256="t" * 64, chat_template_sha256="c" * 64
    )


@cache
def _made(text: str) -> Materialised:
    return fresh(json.loads(text))


def made(document: dict[str, Any]) -> Materialised:
    """The plan of a document; made once for all tests that only read it."""
    return _made(json.dumps(document))


def rows(plan: Materialised, segment: str) -> list[dict[str, Any]]:
    return [r for r in plan.plan if r["segment"] == segment]


@pytest.mark.req("9.07")
def test_the_example_holds_warm_up_four_cases_load_and_profile() -> None:
    plan = made(example())

    assert [r["case"] for r in rows(plan, "cases")] == [
        "short",
        "long_input",
        "long_output",
        "active_cancel",
    ]
    assert len(rows(plan, "warmup")) == 2
    assert len(rows(plan, "load")) == 16
    assert len(rows(plan, "profile")) == 1
    assert [r["sequence"] for r in plan.plan] == list(range(23))
    phases = {r["segment"]: r["phase"] for r in plan.plan}
    assert phases == {
        "warmup": "warmup",
        "cases": "measure",
        "load": "measure",
        "profile": "profile",
    }


@pytest.mark.req("1.01", "1.04")
def test_every_row_has_ids_of_its_own_for_each_object() -> None:
    plan = made(example())

    first = rows(plan, "cases")[0]
    assert first["request_id"] == "cases-0001"
    assert first["task_id"] == "T-cases-0001"
    assert first["session_id"] == "S-cases-0001"
    assert first["model_call_id"] == "M-cases-0001"
    for key in ("request_id", "task_id", "session_id", "model_call_id"):
        assert len({r[key] for r in plan.plan}) == len(plan.plan)


def test_lengths_and_caps_are_the_declared_ones() -> None:
    plan = made(example("workload.output_tokens=40"))

    assert [(r["input_tokens"], r["output_cap"]) for r in rows(plan, "cases")] == [
        (32, 16),
        (1024, 16),
        (32, 128),
        (64, 256),
    ]
    assert {(r["input_tokens"], r["output_cap"]) for r in rows(plan, "load")} == {(64, 40)}


@pytest.mark.req("5.11", "5.23")
def test_expanded_input_token_ids_and_hashes_are_stored_for_every_request() -> None:
    plan = made(example())
    prompts = {p["prompt_ref"]: p for p in plan.prompts}

    for row in plan.plan:
        prompt = prompts[row["prompt_ref"]]
        assert len(prompt["token_ids"]) == row["input_tokens"]
        assert real.encoder().encode(prompt["expanded"]) == prompt["token_ids"]
        assert prompt["tokenizer_sha256"] == "t" * 64
        assert prompt["chat_template_sha256"] == "c" * 64


def test_prompts_of_all_segments_are_disjoint() -> None:
    plan = made(example())

    assert len({r["input_sha256"] for r in plan.plan}) == len(plan.plan)


def test_only_the_cancel_case_is_cancelled() -> None:
    plan = made(example())

    assert {r["case"]: r["cancel_after_chunks"] for r in rows(plan, "cases")} == {
        "short": None,
        "long_input": None,
        "long_output": None,
        "active_cancel": 12,
    }
    assert all(r["cancel_after_ns"] is None for r in plan.plan)


def test_a_cancel_after_seconds_is_planned_in_ns() -> None:
    document = changed(
        example(), "workload.cases.3.cancel", {"after_chunks": None, "after_s": 0.25}
    )

    assert rows(made(document), "cases")[3]["cancel_after_ns"] == 250_000_000


def test_a_closed_loop_has_slots_and_no_times() -> None:
    load = rows(made(example()), "load")

    assert [r["slot"] for r in load] == [i % 4 for i in range(16)]
    assert all(r["offset_ns"] is None for r in load)


@pytest.mark.parametrize("kind", ["constant", "poisson"])
def test_an_open_loop_has_times_and_no_slots(kind: str) -> None:
    plan = made(example(f"load={kind}", "load.rate_per_s=5"))

    load = rows(plan, "load")
    assert all(r["slot"] is None for r in load)
    offsets = [r["offset_ns"] for r in load]
    assert offsets == sorted(offsets)
    # warm-up and cases are sent one after the other, whatever the load
    assert all(r["slot"] == 0 and r["offset_ns"] is None for r in rows(plan, "cases"))


def test_the_plan_digest_follows_from_the_declaration() -> None:
    assert fresh(example()).digest == fresh(example()).digest


@pytest.mark.parametrize(
    "override",
    [
        "workload.seed=1",
        "workload.output_tokens=25",
        "load.concurrency=3",
        "workload.temperature=0.5",
    ],
)
def test_another_declaration_is_another_plan(override: str) -> None:
    assert made(example(override)).digest != made(example()).digest


def test_another_tokenisation_is_another_plan() -> None:
    plan = list(made(example()).plan)
    other = [{**plan[0], "input_sha256": "0" * 64}, *plan[1:]]

    assert plan_digest(other) != plan_digest(plan)


@pytest.mark.req("5.14")
def test_every_row_holds_its_generation_settings() -> None:
    row = rows(made(example("workload.temperature=0.7", "workload.stop=[END]")), "load")[0]

    assert (row["output_cap"], row["temperature"], row["top_p"], row["top_k"]) == (24, 0.7, 1, 0)
    assert (row["stop"], row["ignore_eos"]) == (["END"], True)
    assert isinstance(row["sampling_seed"], int)


@pytest.mark.req("5.14")
def test_sampling_seeds_are_drawn_for_each_request_and_stay() -> None:
    seeds = [r["sampling_seed"] for r in made(example()).plan]

    assert len(set(seeds)) == len(seeds)
    assert all(0 <= s < 2**31 for s in seeds)
    assert seeds == [r["sampling_seed"] for r in fresh(example()).plan]


def test_a_seed_beyond_53_bits_comes_back_from_a_spec_as_text() -> None:
    as_number = made(changed(example(), "workload.seed", 2**60))
    as_text = made(changed(example(), "workload.seed", str(2**60)))

    assert as_number.digest == as_text.digest


def test_a_segment_that_was_switched_off_is_absent() -> None:
    document = example(
        "evidence.trace.enabled=false", "workload.warmup_requests=0", "workload.requests=1"
    )

    assert set(made(document).summary) == {"cases", "load"}


def test_own_texts_are_sent_in_order() -> None:
    document = changed(example(), "workload.prompt_source", "text")
    document["workload"] |= {"texts": ["Hello", "Goodbye"], "requests": 2}

    plan = made(document)

    prompts = {p["prompt_ref"]: p["messages"] for p in plan.prompts}
    assert ["Hello" in prompts[r["prompt_ref"]] for r in rows(plan, "load")] == [True, False]


def test_the_summary_adds_up_by_segment_and_shape() -> None:
    # cases: 32 + 1024 + 32 + 64 = 1152 in, 16 + 16 + 128 + 256 = 416 out; load: 16 x (64, 24)
    summary = made(example()).summary

    assert {k: summary["cases"][k] for k in ("requests", "input_tokens", "output_tokens")} == {
        "requests": 4,
        "input_tokens": 1152,
        "output_tokens": 416,
    }
    assert summary["load"] == {
        "requests": 16,
        "input_tokens": 1024,
        "output_tokens": 384,
        "shapes": [{"case": None, "input_tokens": 64, "output_tokens": 24, "requests": 16}],
    }


def test_tables_are_written_in_the_bundles_schemas(tmp_path: Path) -> None:
    plan = made(example())

    write(plan, tmp_path)

    table = pq.read_table(tmp_path / "plan.parquet")
    assert table.schema.equals(PLAN)
    assert table.to_pylist() == list(plan.plan)
    prompts = pq.read_table(tmp_path / "prompts.parquet")
    assert prompts.schema.equals(PROMPTS)
    assert prompts.num_rows == len(plan.prompts)


def test_a_trace_gives_each_request_its_length_and_equal_blocks_an_equal_beginning() -> None:
    document = example()
    document["load"] |= {
        "kind": "trace",
        "concurrency": None,
        "trace": {
            "path": "t",
            "speed": 1.0,
            "start_s": 0.0,
            "lengths": "trace",
            "max_input_tokens": None,
            "max_output_tokens": None,
            "empty_rows": "refuse",
        },
    }
    trace = [
        TraceRow(line=1, t_ns=0, input_tokens=1100, output_tokens=7, blocks=(4, 5, 6)),
        TraceRow(line=2, t_ns=10, input_tokens=700, output_tokens=9, blocks=(4, 8)),
        TraceRow(line=3, t_ns=20, input_tokens=100, output_tokens=3, blocks=(4,)),
    ]

    plan = materialise(
        document,
        real.encoder(),
        tokenizer_sha256="t" * 64,
        chat_template_sha256="c" * 64,
        trace_rows=trace,
    )

    planned = rows(plan, "load")
    assert [(r["offset_ns"], r["input_tokens"], r["output_cap"]) for r in planned] == [
        (0, 1100, 7),
        (10, 700, 9),
        (20, 100, 3),
    ]
    ids = {p["prompt_ref"]: p["token_ids"] for p in plan.prompts}
    first, second, third = (ids[r["prompt_ref"]] for r in planned)
    shared = next(n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    # block 4 is shared whole, behind the few tokens of the template; the third prompt is shorter than a block
    assert shared >= 512
    assert shared < 600
    assert first[:100] != third
    assert plan.summary["load"]["trace"]["rows"] == 3
    document["engine"]["settings"]["max_length"] = 1000
    with pytest.raises(Refused, match=r"load\.trace: request 1: 1100 input \+ 7 output"):
        materialise(
            document,
            real.encoder(),
            tokenizer_sha256="t" * 64,
            chat_template_sha256="c" * 64,
            trace_rows=trace,
        )


@pytest.mark.req("14.01")
def test_drawn_lengths_are_exact_in_every_row_and_within_their_bounds() -> None:
    plan = made(example("workload=drawn_lengths"))
    load = rows(plan, "load")
    prompts = {p["prompt_ref"]: p for p in plan.prompts}

    assert len({r["input_tokens"] for r in load}) > 4
    for row in load:
        assert 72 <= row["input_tokens"] <= 160
        assert 2 <= row["output_cap"] <= 32
        assert len(prompts[row["prompt_ref"]]["token_ids"]) == row["input_tokens"]


def test_each_request_begins_with_one_of_the_declared_prefixes() -> None:
    plan = made(example("workload=drawn_lengths"))
    prompts = {p["prompt_ref"]: json.loads(p["messages"])[0]["content"] for p in plan.prompts}
    beginnings: dict[int, set[str]] = {}
    for row in rows(plan, "load"):
        words = prompts[row["prompt_ref"]].split()
        beginnings.setdefault(row["prefix_group"], set()).add(" ".join(words[:32]))

    assert sorted(beginnings) == [0, 1, 2, 3]
    assert all(len(found) == 1 for found in beginnings.values())
    assert len(set.union(*beginnings.values())) == 4
    assert all(r["prefix_group"] is None for r in rows(plan, "warmup"))


@pytest.mark.parametrize(
    ("workload", "tokens", "members"),
    [
        ("embedding", 4 * 32, ["input"]),
        ("rerank", 16 + 4 * 32, ["documents", "query"]),
        ("score", 16 + 2 * 32, ["text_1", "text_2"]),
    ],
)
def test_a_scoring_call_is_written_text_by_text_at_exact_lengths(
    workload: str, tokens: int, members: list[str]
) -> None:
    plan = made(example(f"workload={workload}"))
    prompts = {p["prompt_ref"]: json.loads(p["messages"]) for p in plan.prompts}

    for row in rows(plan, "load"):
        assert (row["call_type"], row["output_cap"]) == (workload, 0)
        assert row["input_tokens"] == tokens
        asked = prompts[row["prompt_ref"]]
        assert sorted(asked) == members
        (listed,) = [value for value in asked.values() if isinstance(value, list)]
        assert [len(real.encoder().encode(text)) for text in listed] == [32] * row["items"]


def test_a_plan_of_a_file_keeps_what_was_left_out_beside_its_counts() -> None:
    document = example("workload=sharegpt_file")
    entries = open_file(document["workload"], roots=[SAMPLES])

    plan = materialise(
        document,
        real.encoder(),
        tokenizer_sha256="t" * 64,
        chat_template_sha256="c" * 64,
        entries=entries,
    )

    assert plan.summary["load"]["file"]["dropped"] == {"no question": 1}
    assert plan.summary["load"]["file"]["used"] == plan.summary["load"]["requests"] == 8
    assert len({r["output_cap"] for r in rows(plan, "load")}) > 4  # each as long as its own answer
