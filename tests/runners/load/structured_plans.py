"""Plans with structures, materialised from the shipped example by the real tokenizer."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from experiments.identity import tools_digest
from runners.load.materialise import Materialised, materialise
from tests.experiments.declarations import example
from tests.runners.artifacts import real

DEFINITION = {
    "name": "look_up",
    "description": "Look a word up.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
}
SCRIPTED = {"name": "look_up", "arguments": {"word": "assay"}}
TOOL_USE: dict[str, Any] = {
    "definitions": [json.dumps(DEFINITION)],
    "sent_as": "text",
    "dependency": "look_up",
    "call_output_tokens": 16,
    "result_tokens": 8,
    "tool_call": "scripted",
    "scripted_call": json.dumps(SCRIPTED),
}
SESSION: dict[str, Any] = {
    "turns": 3,
    "turn_input_tokens": [6],
    "turn_output_tokens": [],
    "think_time_s": 0.0,
    "history": "live",
}
BRANCHING: dict[str, Any] = {
    "branches": 3,
    "optional": 1,
    "task_prefix_tokens": 4,
    "join": {"words": 5, "output_tokens": 9},
}
STRUCTURED: dict[str, Any] = {
    "constraint": "json_object",
    "schema": None,
    "pattern": None,
    "choices": [],
    "sent_as": "response_format",
    "regenerations": 2,
}
LOOK_UP = {"name": "look_up", "mocked": True, "fixed_delay_s": 0.1}
RULES = {"linear_session": "session", "branching": "branching", "tool_use": "tool_use"}


def declared(
    structure: str = "single_turn", rule: Mapping[str, Any] | None = None, **workload: Any
) -> dict[str, Any]:
    """The example study with one structure, two arrivals and no cases. ``rule``: of the structure."""
    document = example()
    document["workload"] |= {
        "structure": structure,
        "requests": 2,
        "input_tokens": 40,
        "output_tokens": 8,
        "cases": [],
        "warmup_requests": 0,
        **workload,
    }
    document["evidence"]["trace"]["enabled"] = False
    if rule is not None:
        document["workload"][RULES[structure]] = dict(rule)
    if structure == "tool_use":
        document["boundary"]["external_dependencies"] = [dict(LOOK_UP)]
        definitions = [json.loads(text) for text in document["workload"]["tool_use"]["definitions"]]
        document["artifact"]["tools"] = {
            "names": [d["name"] for d in definitions],
            "sha256": tools_digest(definitions),
        }
    return document


def plan_of(document: Mapping[str, Any]) -> Materialised:
    return _made(json.dumps(document))


@cache
def _made(text: str) -> Materialised:
    return materialise(
        json.loads(text), real.encoder(), tokenizer_sha256="t" * 64, chat_template_sha256="c" * 64
    )


def by_id(plan: Materialised) -> dict[str, dict[str, Any]]:
    return {row["request_id"]: row for row in plan.plan}


def prompts_of(plan: Materialised) -> dict[str, dict[str, Any]]:
    return {row["prompt_ref"]: row for row in plan.prompts}
