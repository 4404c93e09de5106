"""Can the workload be sent as declared, and does every request fit the model and the engine?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from experiments.checks import structures
from experiments.checks.shape import Shape
from experiments.errors import Finding

MAX_REQUESTS = 1_000_000


def shapes(document: Mapping[str, Any]) -> list[Shape]:
    """Every pair of lengths that a run will send, warm-up and profile phase included."""
    workload, trace = document["workload"], document["evidence"]["trace"]
    found = [
        Shape(
            field=f"workload.cases.{i}",
            input_tokens=case["input_tokens"],
            output_tokens=case["output_tokens"],
        )
        for i, case in enumerate(workload["cases"])
    ]
    rows = [("workload", workload, "", workload["requests"] > 0)]
    rows.append(("workload.warmup", workload, "warmup_", workload["warmup_requests"] > 0))
    rows.append(("evidence.trace", trace, "", trace["enabled"] and trace["requests"] > 0))
    for field, owner, prefix, sent in rows:
        if sent:
            tokens = (owner[f"{prefix}input_tokens"], owner[f"{prefix}output_tokens"])
            found.append(Shape(field=field, input_tokens=tokens[0], output_tokens=tokens[1]))
    if workload["call_type"] != "generation":  # each text alone must fit; nothing is produced
        longest = max((workload["scoring"] or {}).get("query_tokens", 0), 1)
        query = Shape(field="workload.scoring.query_tokens", input_tokens=longest, output_tokens=0)
        return [replace(shape, output_tokens=0) for shape in (*found, query)]
    return found + structures.longest(workload)


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``workload``, alone or beside the model's and engine's limits."""
    workload = document["workload"]
    yield from _supported(workload)
    yield from _counts(workload)
    yield from _cases(workload["cases"])
    yield from _cancels(workload)
    yield from _sampling(workload)
    yield from _texts(workload)
    yield from structures.check(document)
    settings = document["engine"]["settings"]
    limits = {
        "artifact.config.max_length": (document["artifact"]["config"] or {}).get("max_length"),
        "engine.settings.max_length": settings.get("max_length"),
        "engine.settings.max_model_len": settings.get("max_model_len"),
    }
    least = 1 if workload["call_type"] == "generation" else 0
    for shape in shapes(document):
        yield from _fits(shape, limits, settings, least_output=least)


def _supported(workload: Mapping[str, Any]) -> Iterator[Finding]:
    driven = {"context_location": "client"}
    for key, value in driven.items():
        if workload[key] != value:
            yield Finding(
                field=f"workload.{key}",
                seen=workload[key],
                allowed=value,
                remedy="This client keeps the context on its own side.",
            )


def _counts(workload: Mapping[str, Any]) -> Iterator[Finding]:
    for key in ("requests", "warmup_requests", "shared_prefix_tokens"):
        if not 0 <= workload[key] <= MAX_REQUESTS:
            yield _wrong(f"workload.{key}", workload[key], f"0 to {MAX_REQUESTS}")
    if workload["requests"] == 0 and not workload["cases"]:
        yield _wrong("workload.requests", 0, "at least 1, or some cases")
    if workload["shared_prefix_tokens"] >= workload["input_tokens"]:
        yield _wrong(
            "workload.shared_prefix_tokens",
            workload["shared_prefix_tokens"],
            f"below workload.input_tokens ({workload['input_tokens']})",
        )


def _cases(cases: list[Mapping[str, Any]]) -> Iterator[Finding]:
    names = [case["name"] for case in cases]
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield _wrong("workload.cases", f"{name} twice", "each case name once")
    for index, case in enumerate(cases):
        if case["cancel"] is not None:
            field = f"workload.cases.{index}.cancel"
            yield from _cancel_rule(field, case["cancel"], case["output_tokens"])


def _cancels(workload: Mapping[str, Any]) -> Iterator[Finding]:
    share, rule = workload["cancel_share"], workload["cancel"]
    if not 0 <= share <= 1:
        yield _wrong("workload.cancel_share", share, "0 to 1")
    if (share > 0) != (rule is not None):
        allowed = "a rule with a share above 0, or neither"
        yield _wrong("workload.cancel", rule, allowed)
    if rule is not None:
        yield from _cancel_rule("workload.cancel", rule, workload["output_tokens"])


def _cancel_rule(field: str, rule: Mapping[str, Any], output_tokens: int) -> Iterator[Finding]:
    chunks, after_s = rule["after_chunks"], rule["after_s"]
    if (chunks is None) == (after_s is None):
        yield _wrong(field, rule, "either after_chunks or after_s")
    elif after_s is not None and after_s <= 0:
        yield _wrong(f"{field}.after_s", after_s, "above 0")
    elif chunks is not None and not 0 < chunks < output_tokens:
        limit = f"1 to {output_tokens - 1}, under its output_tokens"
        yield _wrong(f"{field}.after_chunks", chunks, limit)


def _sampling(workload: Mapping[str, Any]) -> Iterator[Finding]:
    if workload["temperature"] < 0:
        yield _wrong("workload.temperature", workload["temperature"], "0 or above")
    if not 0 < workload["top_p"] <= 1:
        yield _wrong("workload.top_p", workload["top_p"], "above 0, at most 1")
    if workload["top_k"] < 0:
        yield _wrong("workload.top_k", workload["top_k"], "0 (off) or above")


def _texts(workload: Mapping[str, Any]) -> Iterator[Finding]:
    texts = workload["texts"]
    if workload["prompt_source"] != "text":
        if texts:
            seen, source = f"{len(texts)} texts", workload["prompt_source"]
            yield _wrong("workload.texts", seen, f"none with {source} prompts")
        return
    if len(set(texts)) < workload["requests"]:
        allowed = f"at most {len(set(texts))}, the number of different workload.texts"
        yield _wrong("workload.requests", workload["requests"], allowed)
    if workload["shared_prefix_tokens"]:
        yield _wrong(
            "workload.shared_prefix_tokens", workload["shared_prefix_tokens"], "0 with own texts"
        )


def _fits(
    shape: Shape,
    limits: Mapping[str, int | None],
    settings: Mapping[str, Any],
    *,
    least_output: int,
) -> Iterator[Finding]:
    if shape.input_tokens < 1 or shape.output_tokens < least_output:
        # The warm-up's lengths stand beside it: workload.warmup_input_tokens.
        joint = "_" if shape.field == "workload.warmup" else "."
        for name, least in (("input_tokens", 1), ("output_tokens", least_output)):
            if (count := getattr(shape, name)) < least:
                yield _wrong(f"{shape.field}{joint}{name}", count, f"at least {least}")
        return
    total = shape.input_tokens + shape.output_tokens
    seen = f"{shape.input_tokens} input + {shape.output_tokens} output = {total} tokens"
    for field, limit in limits.items():
        if limit is not None and total > limit:
            yield Finding(
                field=shape.field,
                seen=seen,
                allowed=f"at most {limit} ({field})",
                remedy="The prompt with its answer must fit the context: shorten one of them.",
            )
    if "kv_blocks" in settings and settings["block_tokens"] > 0:
        room = settings["kv_blocks"] * settings["block_tokens"]
        if total > room:
            allowed = f"at most {room} (engine.settings: kv_blocks x block_tokens)"
            yield Finding(
                field=shape.field,
                seen=seen,
                allowed=allowed,
                remedy="One request alone must fit the KV cache: add blocks or shorten it.",
            )


def _wrong(field: str, seen: Any, allowed: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy="Correct the workload.")
