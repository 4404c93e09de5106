"""Structures that cannot be carried out are refused by name, with the value seen and what is allowed."""

from typing import Any

import pytest

from experiments.errors import Finding
from experiments.identity import tools_digest
from experiments.plan import check
from tests.experiments.declarations import changed
from tests.runners.load.structured_plans import (
    BRANCHING,
    DEFINITION,
    SESSION,
    STRUCTURED,
    TOOL_USE,
    declared,
)

REASONING: dict[str, Any] = {
    "sent_as": "reasoning_effort",
    "effort": "low",
    "enabled": None,
    "tags": None,
}
IMAGE = {"kind": "image", "width": 8, "height": 8, "duration_s": None, "chunking": None}


def fields(document: dict[str, Any]) -> dict[str, Finding]:
    return {finding.field: finding for finding in check(document)}


@pytest.mark.parametrize(
    "document",
    [
        declared("linear_session", SESSION),
        declared("linear_session", {**SESSION, "history": "scripted"}),
        declared("branching", BRANCHING),
        declared("tool_use", TOOL_USE),
        declared(structured={**STRUCTURED, "sent_as": "unsent"}),
    ],
)
def test_each_structure_can_be_declared_for_the_torch_engine(document: dict[str, Any]) -> None:
    assert fields(document) == {}


@pytest.mark.parametrize(
    ("document", "field", "allowed"),
    [
        (declared("linear_session"), "workload.session", "the rule of structure linear_session"),
        (declared(session=SESSION), "workload.session", "null"),
        (
            declared("linear_session", SESSION, endpoint="completions"),
            "workload.endpoint",
            "chat, which session needs",
        ),
        (
            declared("linear_session", {**SESSION, "turns": 0}),
            "workload.session.turns",
            "1 to 1000",
        ),
        (
            declared("linear_session", {**SESSION, "turns": 30, "turn_output_tokens": [400]}),
            "workload.session",
            "at most 2048 (engine.settings.max_length)",
        ),
        (
            declared("branching", {**BRANCHING, "optional": 3}),
            "workload.branching.optional",
            "0 to 2: one branch at least is required",
        ),
        (
            declared("branching", BRANCHING, prompt_source="text", texts=["a", "b"]),
            "workload.prompt_source",
            "synthetic: each branch has words of its own",
        ),
        (
            declared("branching", BRANCHING, call_type="embedding"),
            "workload.call_type",
            "generation, with structure branching",
        ),
        (
            declared("tool_use", {**TOOL_USE, "dependency": "other"}),
            "workload.tool_use.dependency",
            "a mocked entry of boundary.external_dependencies with fixed_delay_s (look_up)",
        ),
        (
            declared("tool_use", {**TOOL_USE, "scripted_call": '{"name": "g"}'}),
            "workload.tool_use.scripted_call",
            'JSON text of {"name": a declared tool, "arguments": {...}}',
        ),
        (
            declared(structured={**STRUCTURED, "sent_as": "unsent", "pattern": "a"}),
            "workload.structured.pattern",
            "given with constraint regex, and only then",
        ),
    ],
)
def test_what_cannot_be_carried_out_is_refused(
    document: dict[str, Any], field: str, allowed: str
) -> None:
    assert allowed in {finding.allowed for finding in check(document) if finding.field == field}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (declared("tool_use", {**TOOL_USE, "sent_as": "tools"}), "workload.tool_use.sent_as"),
        (declared(structured=STRUCTURED), "workload.structured.sent_as"),
        (declared(media=[IMAGE]), "workload.media"),
        (
            declared(reasoning=REASONING),
            "workload.reasoning",
        ),
    ],
)
def test_the_torch_engine_refuses_by_name_what_it_cannot_do(
    document: dict[str, Any], field: str
) -> None:
    assert "engine torch" in fields(document)[field].allowed


def test_declared_tools_must_be_the_ones_that_are_sent() -> None:
    document = declared("tool_use", TOOL_USE)
    other = changed(document, "artifact.tools.sha256", "0" * 64)
    none_sent = changed(declared(), "artifact.tools", {"names": ["f"], "sha256": "0" * 64})

    assert f"sha256 {tools_digest([DEFINITION])}" in fields(other)["artifact.tools"].allowed
    assert fields(none_sent)["artifact.tools"].allowed == "names [], sha256 None"


@pytest.mark.parametrize(("required", "refused"), [(2, False), (3, True)])
def test_a_contract_can_ask_for_no_more_than_the_required_branches(
    required: int, refused: bool
) -> None:
    document = changed(
        declared("branching", BRANCHING), "contract.required_branches", required
    )  # two of its three branches are required

    assert ("contract.required_branches" in fields(document)) == refused


@pytest.mark.parametrize("tags", [["<think>", "</think>"], ["", "</think>"]])
def test_tags_can_be_declared_where_nothing_is_sent(tags: list[str]) -> None:
    rule = REASONING | {"sent_as": "unsent", "effort": None, "tags": tags}

    assert fields(declared(reasoning=rule)) == {}


@pytest.mark.forbids
@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"tags": None}, "workload.reasoning.tags"),
        ({"tags": ["<think>"]}, "workload.reasoning.tags"),
        ({"tags": ["<t>", "<t>"]}, "workload.reasoning.tags"),
        ({"tags": ["<think>", ""]}, "workload.reasoning.tags"),
        ({"effort": "low"}, "workload.reasoning"),
    ],
)
def test_tags_that_part_nothing_are_refused(rule: dict[str, Any], field: str) -> None:
    unsent = REASONING | {"sent_as": "unsent", "effort": None, "tags": ["<think>", "</think>"]}

    assert list(fields(declared(reasoning=unsent | rule))) == [field]


@pytest.mark.forbids
def test_an_answer_is_not_asked_again_for_reasoning_that_stands_in_it() -> None:
    unsent = REASONING | {"sent_as": "unsent", "effort": None, "tags": ["<think>", "</think>"]}
    structured = {**STRUCTURED, "sent_as": "unsent"}

    found = fields(declared(reasoning=unsent, structured=structured))

    assert list(found) == ["workload.structured.regenerations"]
