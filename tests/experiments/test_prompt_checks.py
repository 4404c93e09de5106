"""What a workload may say of its prompts' source and lengths, and which endpoint a call type belongs to."""

from typing import Any

import pytest

from experiments.checks.policy import Policy
from experiments.plan import check
from tests.experiments.declarations import changed, example

READY = ("sharegpt_file", "drawn_lengths", "embedding", "rerank", "score")
FILE: dict[str, Any] = {
    "path": "prompts.jsonl",
    "sha256": "0" * 64,
    "format": "jsonl",
    "messages_field": None,
    "prompt_field": "q",
    "output_tokens_field": None,
    "answer_field": None,
    "output": "workload",
    "order": "shuffled",
    "min_input_tokens": 1,
    "min_output_tokens": 1,
    "when_short": "refuse",
}
UNIFORM: dict[str, Any] = {
    "kind": "uniform",
    "minimum": 32,
    "maximum": 64,
    "mean": None,
    "deviation": None,
    "values": [],
}


def fields(document: dict[str, Any], policy: Policy | None = None) -> list[str]:
    return [f.field for f in check(document, policy=policy or Policy())]


def of(workload: str, **values: Any) -> dict[str, Any]:
    document = example(f"workload={workload}")
    for path, value in values.items():
        document = changed(document, f"workload.{path.replace('__', '.')}", value)
    return document


def with_file(**changes: Any) -> dict[str, Any]:
    return of("smollm2_archive", prompt_source="file", file=FILE | changes)


@pytest.mark.parametrize("workload", READY)
def test_the_ready_workloads_can_be_run_as_they_are(workload: str) -> None:
    assert check(example(f"workload={workload}")) == []


@pytest.mark.req("1.06")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("workload", "values", "field"),
    [
        ("rerank", {"endpoint": "chat"}, "workload.endpoint"),
        ("smollm2_smoke", {"endpoint": "embeddings"}, "workload.endpoint"),
        ("smollm2_smoke", {"scoring": {"items": 1, "query_tokens": 0}}, "workload.scoring"),
        ("rerank", {"output_tokens": 8}, "workload.output_tokens"),
        ("rerank", {"warmup_output_tokens": 8}, "workload.warmup_output_tokens"),
        ("rerank", {"scoring": None}, "workload.scoring"),
        ("rerank", {"scoring__items": 0}, "workload.scoring.items"),
        ("rerank", {"scoring__query_tokens": 0}, "workload.scoring.query_tokens"),
        ("embedding", {"scoring__query_tokens": 8}, "workload.scoring.query_tokens"),
        ("embedding", {"input_tokens": 4096}, "workload"),
        ("embedding", {"prompt_source": "text"}, "workload.prompt_source"),
    ],
)
def test_a_call_type_keeps_to_its_endpoint_and_its_own_fields(
    workload: str, values: dict[str, Any], field: str
) -> None:
    assert field in fields(of(workload, **values))


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"path": "../secrets"}, "workload.file.path"),
        ({"path": "/etc/passwd"}, "workload.file.path"),
        ({"path": ""}, "workload.file.path"),
        ({"sha256": "main"}, "workload.file.sha256"),
        ({"prompt_field": None}, "workload.file.prompt_field"),
        ({"messages_field": "m"}, "workload.file.prompt_field"),
        ({"format": "sharegpt"}, "workload.file.prompt_field"),
        (
            {"format": "csv", "prompt_field": None, "messages_field": "m"},
            "workload.file.messages_field",
        ),
        ({"output": "file"}, "workload.file.output_tokens_field"),
        ({"answer_field": "a"}, "workload.file.output_tokens_field"),
        ({"min_input_tokens": 65}, "workload.file.min_input_tokens"),
        ({"when_short": "repeat"}, "workload.file.when_short"),
    ],
)
def test_a_file_is_pinned_below_a_root_and_names_its_fields(
    values: dict[str, Any], field: str
) -> None:
    assert fields(with_file()) == []
    assert field in fields(with_file(**values))


def test_a_file_may_lie_anywhere_below_an_allowed_root() -> None:
    document = with_file(path="/data/prompts/a.jsonl")

    assert fields(document, Policy(artifact_roots=("/data",))) == []
    assert fields(document, Policy(artifact_roots=("/data/prompt",))) == ["workload.file.path"]


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"minimum": None}, "workload.input_lengths.minimum"),
        ({"mean": 40.0}, "workload.input_lengths.mean"),
        ({"maximum": 65}, "workload.input_lengths"),
        ({"minimum": 0}, "workload.input_lengths"),
        ({"minimum": 60, "maximum": 50}, "workload.input_lengths"),
        ({"kind": "listed"}, "workload.input_lengths.minimum"),
        ({"kind": "normal", "mean": 40.0, "deviation": -1.0}, "workload.input_lengths.deviation"),
    ],
)
def test_a_distribution_has_what_it_needs_and_stays_within_the_most(
    values: dict[str, Any], field: str
) -> None:
    assert fields(of("smollm2_archive", input_lengths=UNIFORM)) == []
    assert field in fields(of("smollm2_archive", input_lengths=UNIFORM | values))


def test_several_prefixes_need_tokens_to_differ_in() -> None:
    assert fields(of("smollm2_archive", shared_prefixes=3)) == ["workload.shared_prefix_tokens"]
    assert fields(of("smollm2_archive", shared_prefixes=3, shared_prefix_tokens=8)) == []
