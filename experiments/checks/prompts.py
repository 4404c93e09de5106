"""Can prompts come from where the workload says, of these lengths, for the endpoint of its call type?"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from experiments.checks.artifact import SHA256
from experiments.checks.policy import Policy
from experiments.errors import Finding

ENDPOINTS: Mapping[str, tuple[str, ...]] = {
    "generation": ("chat", "completions", "responses", "messages"),
    "embedding": ("embeddings",),
    "rerank": ("rerank",),
    "score": ("score",),
}
MAX_ITEMS = 2048
MAX_PREFIXES = 10_000


def check(document: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    """Everything that is wrong with the source and the lengths of prompts, and with the call type."""
    workload = document["workload"]
    yield from _call_type(workload)
    yield from _file(workload, policy)
    for side in ("input", "output"):
        if (rule := workload[f"{side}_lengths"]) is not None:
            yield from _lengths(workload, rule, side)
    if workload["input_lengths"] and workload["prompt_source"] != "synthetic":
        seen = f"given, with {workload['prompt_source']} prompts"
        yield _wrong("workload.input_lengths", seen, "null: such prompts have lengths of their own")
    trace = document["load"]["trace"] or {}  # a load of this kind without one is refused elsewhere
    if document["load"]["kind"] == "trace" and trace.get("lengths") == "trace":
        for side in ("input", "output"):
            if workload[f"{side}_lengths"] is not None:
                allowed = "null: the trace gives each request its lengths"
                yield _wrong(f"workload.{side}_lengths", "given", allowed)
    if not 1 <= workload["shared_prefixes"] <= MAX_PREFIXES:
        yield _wrong(
            "workload.shared_prefixes", workload["shared_prefixes"], f"1 to {MAX_PREFIXES}"
        )
    if workload["shared_prefixes"] > 1 and workload["shared_prefix_tokens"] < 2:
        allowed = "at least 2, so that several prefixes differ"
        yield _wrong("workload.shared_prefix_tokens", workload["shared_prefix_tokens"], allowed)


def _call_type(workload: Mapping[str, Any]) -> Iterator[Finding]:
    kind, rule = workload["call_type"], workload["scoring"]
    if workload["endpoint"] not in ENDPOINTS[kind]:
        allowed = f"{', '.join(ENDPOINTS[kind])}, for calls of type {kind}"
        yield _wrong("workload.endpoint", workload["endpoint"], allowed)
    if kind == "generation":
        if rule is not None:
            yield _wrong("workload.scoring", "given", "null with call_type generation")
        return
    for field, wanted in (("structure", "single_turn"), ("prompt_source", "synthetic")):
        if workload[field] != wanted:
            yield _wrong(f"workload.{field}", workload[field], f"{wanted}, with call_type {kind}")
    for field in ("output_tokens", "warmup_output_tokens"):
        if workload[field] != 0:
            yield _wrong(f"workload.{field}", workload[field], f"0: {kind} produces no tokens")
    for index, case in enumerate(workload["cases"]):
        if case["output_tokens"] != 0:
            field = f"workload.cases.{index}.output_tokens"
            yield _wrong(field, case["output_tokens"], f"0: {kind} produces no tokens")
    if workload["output_lengths"] is not None:
        yield _wrong("workload.output_lengths", "given", f"null: {kind} produces no tokens")
    if rule is None:
        yield _wrong("workload.scoring", "null", f"items, and query_tokens, with call_type {kind}")
        return
    if not 1 <= rule["items"] <= MAX_ITEMS:
        yield _wrong("workload.scoring.items", rule["items"], f"1 to {MAX_ITEMS}")
    if (kind == "embedding") != (rule["query_tokens"] == 0) or rule["query_tokens"] < 0:
        allowed = "0: an embedding compares with nothing" if kind == "embedding" else "at least 1"
        yield _wrong("workload.scoring.query_tokens", rule["query_tokens"], allowed)


def _file(workload: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    source, file = workload["prompt_source"], workload["file"]
    if (source == "file") != (file is not None):
        allowed = "a pinned file" if source == "file" else f"null with {source} prompts"
        yield _wrong("workload.file", "null" if file is None else "given", allowed)
    if file is None:
        return
    yield from _path(str(file["path"]), policy)
    if not SHA256.fullmatch(str(file["sha256"])):
        yield _wrong("workload.file.sha256", file["sha256"], "64 hexadecimal digits")
    yield from _fields(file, str(workload["endpoint"]))
    for side in ("input", "output"):
        least, most = file[f"min_{side}_tokens"], workload[f"{side}_tokens"]
        if not 1 <= least <= most:
            field = f"workload.file.min_{side}_tokens"
            yield _wrong(field, least, f"1 to {most} (workload.{side}_tokens)")
    if file["when_short"] == "repeat" and workload["disjoint"] != "none":
        allowed = "refuse, or workload.disjoint: none, since a prompt would come twice"
        yield _wrong("workload.file.when_short", "repeat", allowed)
    for field, neutral in (("texts", []), ("shared_prefix_tokens", 0)):
        if source == "file" and workload[field] != neutral:
            yield _wrong(f"workload.{field}", workload[field], f"{neutral} with prompts of a file")


def _path(path: str, policy: Policy) -> Iterator[Finding]:
    parts = PurePosixPath(path)
    roots = [PurePosixPath(root) for root in policy.artifact_roots]
    below = not parts.is_absolute() or any(parts.is_relative_to(root) for root in roots)
    if not path or ".." in parts.parts or not below:
        named = ", ".join(map(str, roots)) or "none configured"
        yield _wrong("workload.file.path", path, f"relative, or below an allowed root ({named})")


def _fields(file: Mapping[str, Any], endpoint: str) -> Iterator[Finding]:
    form = file["format"]
    inputs = [name for name in ("messages_field", "prompt_field") if file[name]]
    lengths = [name for name in ("output_tokens_field", "answer_field") if file[name]]
    if form == "sharegpt":
        for name in (*inputs, *lengths):
            yield _wrong(f"workload.file.{name}", file[name], "null: the format names its fields")
        if endpoint == "completions":
            yield _wrong("workload.endpoint", endpoint, "chat, with conversations")
        return
    if len(inputs) != 1:
        yield _wrong("workload.file.prompt_field", inputs, "either it or messages_field")
    elif inputs == ["messages_field"] and (form == "csv" or endpoint == "completions"):
        allowed = "prompt_field, for a CSV or for completions"
        yield _wrong("workload.file.messages_field", file["messages_field"], allowed)
    if len(lengths) > 1 or (file["output"] == "file") != (len(lengths) == 1):
        allowed = "one of output_tokens_field and answer_field with output: file, else none"
        yield _wrong("workload.file.output_tokens_field", lengths, allowed)


def _lengths(workload: Mapping[str, Any], rule: Mapping[str, Any], side: str) -> Iterator[Finding]:
    field, most = f"workload.{side}_lengths", workload[f"{side}_tokens"]
    wanted = {
        "uniform": ("minimum", "maximum"),
        "normal": ("minimum", "maximum", "mean", "deviation"),
        "lognormal": ("minimum", "maximum", "mean", "deviation"),
        "listed": ("values",),
    }[rule["kind"]]
    for name in ("minimum", "maximum", "mean", "deviation", "values"):
        is_given = rule[name] not in (None, [])
        if is_given != (name in wanted):
            allowed = "a value" if name in wanted else "nothing"
            yield _wrong(f"{field}.{name}", rule[name], f"{allowed} for {rule['kind']}")
            return
    lengths = rule["values"] or [rule["minimum"], rule["maximum"]]
    if min(lengths) < 1 or max(lengths) > most or (not rule["values"] and lengths[0] > lengths[1]):
        yield _wrong(field, lengths, f"from 1 to {most} (workload.{side}_tokens), in order")
    for name in ("mean", "deviation"):
        if rule[name] is not None and not 0 < rule[name] < float("inf"):
            yield _wrong(f"{field}.{name}", rule[name], "a number above 0")


def _wrong(field: str, seen: Any, allowed: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy="Correct the workload.")
