"""Are the workload's structures complete: the rule of the structure named, and rules that can be kept?"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.checks.shape import Shape
from experiments.errors import Finding
from experiments.identity import tools_digest

RULE_OF = {"linear_session": "session", "branching": "branching", "tool_use": "tool_use"}
# Engines that answer chat requests but expand no tool definitions, constrain no answer, read no media.
TEXT_ONLY_ENGINES = ("torch",)
_REASONING_VALUE: Mapping[str, set[str]] = {
    "reasoning_effort": {"effort"},
    "enable_thinking": {"enabled"},
    "unsent": set(),
}


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with the structures of ``workload`` beside engine, artifact and boundary."""
    workload = document["workload"]
    yield from _rule_present(workload)
    for name, examine in _EXAMINERS.items():
        if workload[name] is not None:
            yield from examine(workload[name], document)
    yield from _media(document)
    yield from _tools_identity(document)


def longest(workload: Mapping[str, Any]) -> list[Shape]:
    """The longest request that each structure can come to, if every reply is as long as its cap.

    Template tokens of later messages are not known here; the plan counts them, the driver's engine refuses.
    """
    start, cap = workload["input_tokens"], workload["output_tokens"]
    if (rule := workload["session"]) is not None and rule["turns"] > 1:
        caps = [entry(rule["turn_output_tokens"], i, cap) for i in range(rule["turns"])]
        words = [entry(rule["turn_input_tokens"], i, 0) for i in range(rule["turns"] - 1)]
        total = start + sum(caps[:-1]) + sum(words)
        return [Shape(field="workload.session", input_tokens=total, output_tokens=caps[-1])]
    if (rule := workload["branching"]) is not None and rule["join"] is not None:
        total = rule["branches"] * cap + rule["join"]["words"]
        out = rule["join"]["output_tokens"]
        return [Shape(field="workload.branching.join", input_tokens=total, output_tokens=out)]
    if (rule := workload["tool_use"]) is not None:
        total = start + rule["call_output_tokens"] + rule["result_tokens"]
        return [Shape(field="workload.tool_use", input_tokens=total, output_tokens=cap)]
    return []


def entry(values: list[int], index: int, default: int) -> int:
    """The entry of a list whose last one goes on; ``default`` for an empty list."""
    return values[min(index, len(values) - 1)] if values else default


def _rule_present(workload: Mapping[str, Any]) -> Iterator[Finding]:
    structure = str(workload["structure"])
    needed = RULE_OF.get(structure)
    for name in RULE_OF.values():
        has = workload[name] is not None
        if has != (name == needed):
            allowed = f"the rule of structure {structure}" if name == needed else "null"
            seen = "null" if not has else f"a rule, with structure {structure}"
            yield _wrong(f"workload.{name}", seen, allowed)
    if needed and workload["call_type"] != "generation":
        allowed = f"generation, with structure {structure}"
        yield _wrong("workload.call_type", workload["call_type"], allowed)
    chat_only = [needed] if needed else []
    chat_only += ["reasoning"] if sends_reasoning(workload) else []
    chat_only += ["structured"] if workload["structured"] is not None else []
    chat_only += ["media"] if workload["media"] else []
    if chat_only and workload["endpoint"] != "chat":
        allowed = f"chat, which {', '.join(chat_only)} needs"
        yield _wrong("workload.endpoint", workload["endpoint"], allowed)


def sends_reasoning(workload: Mapping[str, Any]) -> bool:
    rule = workload["reasoning"]
    return rule is not None and rule["sent_as"] != "unsent"


def _session(rule: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Finding]:
    if not 1 <= rule["turns"] <= 1000:
        yield _wrong("workload.session.turns", rule["turns"], "1 to 1000")
    if rule["think_time_s"] < 0:
        yield _wrong("workload.session.think_time_s", rule["think_time_s"], "0 or above")
    if rule["turns"] > 1 and not rule["turn_input_tokens"]:
        yield _wrong("workload.session.turn_input_tokens", "empty", "words of turns 2, 3, ...")
    for name in ("turn_input_tokens", "turn_output_tokens"):
        if any(value < 1 for value in rule[name]):
            yield _wrong(f"workload.session.{name}", rule[name], "whole numbers from 1")


def _branching(rule: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Finding]:
    if (source := document["workload"]["prompt_source"]) != "synthetic":
        yield _wrong(
            "workload.prompt_source", source, "synthetic: each branch has words of its own"
        )
    if not 1 <= rule["branches"] <= 1000:
        yield _wrong("workload.branching.branches", rule["branches"], "1 to 1000")
    if not 0 <= rule["optional"] < rule["branches"]:
        allowed = f"0 to {rule['branches'] - 1}: one branch at least is required"
        yield _wrong("workload.branching.optional", rule["optional"], allowed)
    if rule["task_prefix_tokens"] < 0:
        seen = rule["task_prefix_tokens"]
        yield _wrong("workload.branching.task_prefix_tokens", seen, "0 or above")
    join = rule["join"]
    for name in ("words", "output_tokens") if join is not None else ():
        if join[name] < 1:
            yield _wrong(f"workload.branching.join.{name}", join[name], "at least 1")


def _tool_use(rule: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Finding]:
    where = "workload.tool_use"
    engine = document["engine"]["key"]
    if rule["sent_as"] == "tools" and engine in TEXT_ONLY_ENGINES:
        allowed = f"text: engine {engine} expands no tool definitions"
        yield _wrong(f"{where}.sent_as", rule["sent_as"], allowed)
    if not rule["definitions"]:
        yield _wrong(f"{where}.definitions", "none", "at least one definition as JSON text")
    for index, text in enumerate(rule["definitions"]):
        if not _is_definition(text):
            allowed = "JSON text of an object with name, description and parameters"
            yield _wrong(f"{where}.definitions.{index}", text[:60], allowed)
    for name in ("call_output_tokens", "result_tokens"):
        if rule[name] < 1:
            yield _wrong(f"{where}.{name}", rule[name], "at least 1")
    yield from _dependency(rule["dependency"], document["boundary"]["external_dependencies"])
    yield from _scripted(rule)


def _is_definition(text: str) -> bool:
    found = _json(text)
    return isinstance(found, dict) and isinstance(found.get("name"), str) and "parameters" in found


def _dependency(name: str, declared: list[Mapping[str, Any]]) -> Iterator[Finding]:
    found = next((d for d in declared if d["name"] == name), None)
    if found is None or not found["mocked"] or found["fixed_delay_s"] is None:
        names = ", ".join(d["name"] for d in declared if d["mocked"]) or "none declared"
        yield Finding(
            field="workload.tool_use.dependency",
            seen=name,
            allowed=f"a mocked entry of boundary.external_dependencies with fixed_delay_s ({names})",
            remedy="The function is replaced by an injected fixed delay: declare it in the boundary.",
        )


def _scripted(rule: Mapping[str, Any]) -> Iterator[Finding]:
    text, wanted = rule["scripted_call"], rule["tool_call"] == "scripted"
    if wanted != (text is not None):
        allowed = "a call, with tool_call: scripted" if wanted else "null, with tool_call: none"
        yield _wrong("workload.tool_use.scripted_call", text, allowed)
        return
    call = _json(text) if text is not None else None
    names = [d.get("name") for d in map(_json, rule["definitions"]) if isinstance(d, dict)]
    if wanted and not (isinstance(call, dict) and _calls_one_of(call, names)):
        allowed = 'JSON text of {"name": a declared tool, "arguments": {...}}'
        yield _wrong("workload.tool_use.scripted_call", text, allowed)


def _calls_one_of(call: Mapping[str, Any], names: list[Any]) -> bool:
    return call.get("name") in names and isinstance(call.get("arguments"), dict)


def _reasoning(rule: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Finding]:
    workload, sent_as = document["workload"], rule["sent_as"]
    engine = document["engine"]["key"]
    if sends_reasoning(workload) and engine in TEXT_ONLY_ENGINES:
        allowed = f"null, or unsent: engine {engine} has no reasoning setting"
        yield _wrong("workload.reasoning", dict(rule), allowed)
    given = {name for name in ("effort", "enabled") if rule[name] is not None}
    if given != _REASONING_VALUE[str(sent_as)]:
        allowed = "effort with reasoning_effort, enabled with enable_thinking, neither with unsent"
        yield _wrong("workload.reasoning", dict(rule), allowed)
    if workload["call_type"] != "generation":
        allowed = "null: only generations reason"
        yield _wrong("workload.reasoning", dict(rule), allowed)
    tags = rule["tags"]
    if tags is None:
        if sent_as == "unsent":
            yield _wrong("workload.reasoning.tags", "null", "two tags, where nothing is sent")
    elif len(tags) != 2 or not tags[1] or tags[0] == tags[1]:
        allowed = "two different tags: an opening one (or an empty text) and a closing one"
        yield _wrong("workload.reasoning.tags", list(tags), allowed)
    if tags is not None and (workload["structured"] or {}).get("regenerations"):
        allowed = (
            "0 with reasoning.tags: the client would judge the answer with its reasoning in it"
        )
        seen = workload["structured"]["regenerations"]
        yield _wrong("workload.structured.regenerations", seen, allowed)


def _structured(rule: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Finding]:
    where, engine = "workload.structured", document["engine"]["key"]
    if rule["sent_as"] != "unsent" and engine in TEXT_ONLY_ENGINES:
        allowed = f"unsent: engine {engine} constrains no answer"
        yield _wrong(f"{where}.sent_as", rule["sent_as"], allowed)
    if rule["sent_as"] == "response_format" and rule["constraint"] in ("regex", "choice"):
        allowed = f"guided or unsent: response_format has no {rule['constraint']}"
        yield _wrong(f"{where}.sent_as", rule["sent_as"], allowed)
    if rule["sent_as"] == "guided" and rule["constraint"] == "json_object":
        yield _wrong(f"{where}.sent_as", "guided", "response_format or unsent, for json_object")
    given = {"json_schema": "schema", "regex": "pattern", "choice": "choices"}
    for constraint, field in given.items():
        if bool(rule[field]) != (rule["constraint"] == constraint):
            allowed = f"given with constraint {constraint}, and only then"
            yield _wrong(f"{where}.{field}", rule[field], allowed)
    if rule["schema"] and not isinstance(_json(rule["schema"]), dict):
        yield _wrong(f"{where}.schema", rule["schema"][:60], "a JSON schema as JSON text")
    if rule["pattern"] and (problem := _pattern_problem(rule["pattern"])):
        yield _wrong(f"{where}.pattern", f"{rule['pattern']}: {problem}", "a regular expression")
    if not 0 <= rule["regenerations"] <= 100:
        yield _wrong(f"{where}.regenerations", rule["regenerations"], "0 to 100")


_EXAMINERS = {
    "session": _session,
    "branching": _branching,
    "tool_use": _tool_use,
    "reasoning": _reasoning,
    "structured": _structured,
}


def _media(document: Mapping[str, Any]) -> Iterator[Finding]:
    media, engine = document["workload"]["media"], document["engine"]["key"]
    if media and engine in TEXT_ONLY_ENGINES:
        kinds = ", ".join(str(item["kind"]) for item in media)
        yield _wrong("workload.media", kinds, f"none: engine {engine} reads no media")
    for index, item in enumerate(media):
        where = f"workload.media.{index}"
        if item["kind"] != "image":
            allowed = "image: this client makes no audio or video"
            yield _wrong(f"{where}.kind", item["kind"], allowed)
            continue
        for side in ("width", "height"):
            if item[side] is None or not 1 <= item[side] <= 4096:
                yield _wrong(f"{where}.{side}", item[side], "1 to 4096 pixels")
        if item["duration_s"] is not None:
            yield _wrong(f"{where}.duration_s", item["duration_s"], "null: an image does not last")


def _tools_identity(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Definitions are an identity item of their own; they must be the ones that are sent."""
    rule, declared = document["workload"]["tool_use"], document["artifact"]["tools"]
    definitions = [_json(text) for text in rule["definitions"]] if rule else []
    if not all(isinstance(d, dict) for d in definitions):
        return
    names = [str(d.get("name")) for d in definitions]
    digest = tools_digest(definitions) if definitions else None
    if list(declared["names"]) != names or declared["sha256"] != digest:
        yield Finding(
            field="artifact.tools",
            seen=f"names {list(declared['names'])}, sha256 {declared['sha256']}",
            allowed=f"names {names}, sha256 {digest}",
            remedy="Declare the definitions that this workload sends; without tools, none.",
        )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _pattern_problem(pattern: str) -> str | None:
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return None


def _wrong(field: str, seen: Any, allowed: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy="Correct the workload.")
