"""What a workload adds to each request of an arrival: a reasoning setting, the form of the answer, media."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runners.load.media import with_media
from runners.load.part import Part, UncountedPrompt
from runners.protocol.events import Step
from runners.protocol.manifest import canonical


def with_additions(part: Part, workload: Mapping[str, Any]) -> Part:
    return _with_media(_constrained(_with_reasoning(part, workload), workload), workload)


def _with_media(part: Part, workload: Mapping[str, Any]) -> Part:
    """Images of one arrival are the same in all its requests, and unlike those of any other."""
    if not workload["media"]:
        return part
    messages = part.prompt.messages
    seed = int(hashlib.sha256(canonical(messages[:1])).hexdigest()[:12], 16)
    shown = with_media(messages, workload["media"], seed=seed)
    return replace(part, prompt=UncountedPrompt(messages=shown), history_tokens=None)


def _with_reasoning(part: Part, workload: Mapping[str, Any]) -> Part:
    rule = workload["reasoning"]
    if rule is None or rule["sent_as"] == "unsent":
        return part
    asked: dict[str, Any] = (
        {"reasoning_effort": rule["effort"]}
        if rule["sent_as"] == "reasoning_effort"
        else {"chat_template_kwargs": {"enable_thinking": rule["enabled"]}}
    )
    return replace(part, members={**(part.members or {}), **asked})


def _constrained(part: Part, workload: Mapping[str, Any]) -> Part:
    """The declared form of an answer; a tool call is no answer."""
    rule = workload["structured"]
    if rule is None or part.step is Step.tool_call:
        return part
    schema = json.loads(rule["schema"]) if rule["schema"] else None
    check = {
        "use": "check",
        "constraint": str(rule["constraint"]),
        "schema": schema,
        "pattern": rule["pattern"],
        "choices": list(rule["choices"]),
        "regenerations": rule["regenerations"],
    }
    members = {**(part.members or {}), **_format_members(rule, schema)}
    return replace(part, members=members or None, on_reply=check)


def _format_members(rule: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    if rule["sent_as"] == "unsent":
        return {}
    if rule["sent_as"] == "guided":
        given = {"json_schema": schema, "regex": rule["pattern"], "choice": list(rule["choices"])}
        names = {"json_schema": "guided_json", "regex": "guided_regex", "choice": "guided_choice"}
        return {names[str(rule["constraint"])]: given[str(rule["constraint"])]}
    if rule["constraint"] == "json_object":
        return {"response_format": {"type": "json_object"}}
    named = {"name": "answer", "schema": schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}
