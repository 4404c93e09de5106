"""Do the settings of a vLLM declaration hold together, and do they fit the artifact and the device?"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

DTYPES = ("bfloat16", "float16", "float32")
COUNTS = ("max_model_len", "max_num_seqs", "max_num_batched_tokens")
OPTIONAL_COUNTS = ("block_size", "kv_cache_gib", "threads")


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``engine`` of key vllm beside ``artifact`` and ``device``."""
    engine, settings = document["engine"], document["engine"]["settings"]
    yield from _environment(engine["environment"])
    yield from _counts(settings)
    yield from _graphs(settings)
    yield from _speculative(settings["speculative_config"])
    yield from _flags(settings["flags"])
    yield from _device(settings, document["device"]["kind"])
    yield from _precision(settings, document["artifact"])


def _environment(environment: Mapping[str, Any]) -> Iterator[Finding]:
    kind = environment["kind"]
    if kind != "venv":
        remedy = "Install one: assay engines install vllm==VERSION --variant cpu"
        yield _finding("engine.environment.kind", kind, "venv", remedy)
    elif environment["lock_sha256"] is None:
        yield _finding(
            "engine.environment.lock_sha256",
            None,
            "the sha256 of the environment's lock",
            "See assay engines list; a version alone does not say which libraries ran.",
        )


def _counts(settings: Mapping[str, Any]) -> Iterator[Finding]:
    for name in COUNTS:
        if settings[name] < 1:
            yield _setting(name, settings[name], "at least 1", "Raise it.")
    for name in OPTIONAL_COUNTS:
        if settings[name] is not None and settings[name] < 1:
            yield _setting(name, settings[name], "null, or at least 1", "Raise it.")
    waiting = settings["max_num_queued_reqs"]
    if waiting is not None and waiting < 0:
        yield _setting("max_num_queued_reqs", waiting, "null, or at least 0", "Raise it.")
    if settings["max_num_batched_tokens"] < settings["max_num_seqs"]:
        yield _setting(
            "max_num_batched_tokens",
            settings["max_num_batched_tokens"],
            f"at least max_num_seqs ({settings['max_num_seqs']})",
            "A step decodes one token of every running request.",
        )
    whole = settings["max_num_batched_tokens"] >= settings["max_model_len"]
    if not settings["enable_chunked_prefill"] and not whole:
        yield _setting(
            "max_num_batched_tokens",
            settings["max_num_batched_tokens"],
            f"at least max_model_len ({settings['max_model_len']}) without chunked prefill",
            "A prompt that is not cut must fit into one step.",
        )
    share = settings["gpu_memory_utilization"]
    if share is not None and not 0 < share <= 1:
        yield _setting("gpu_memory_utilization", share, "above 0, at most 1", "It is a share.")


def _graphs(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if not settings["enforce_eager"]:
        return
    mode, sizes = settings["graph_mode"], settings["graph_capture_sizes"]
    if mode not in ("chosen", "none") or sizes:
        yield _setting(
            "graph_mode",
            f"{mode}, capture sizes {list(sizes)}",
            "chosen or none and no sizes, because enforce_eager is true",
            "Eager turns graphs off: ask for one of the two.",
        )


def _speculative(text: str | None) -> Iterator[Finding]:
    if text is None:
        return
    try:
        whole = isinstance(json.loads(text), dict)
    except ValueError:
        whole = False
    if not whole:
        yield _setting("speculative_config", text, "null, or a JSON object", "Write it as JSON.")


def _flags(flags: Mapping[str, str]) -> Iterator[Finding]:
    for name in flags:
        if not name or name.startswith("-"):
            remedy = (
                "The dashes are added; whether the flag exists is asked of the version's parser."
            )
            yield _setting(f"flags.{name}", name, "a flag's name without leading dashes", remedy)


def _device(settings: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    only_on = {
        "cpu": ("threads", "thread_binding"),
        "cuda": ("gpu_memory_utilization",),
    }
    for wanted, names in only_on.items():
        for name in names:
            if kind != wanted and settings[name] is not None:
                yield _setting(
                    name, settings[name], f"null on {kind}", f"It is a {wanted} build's own."
                )


def _precision(settings: Mapping[str, Any], artifact: Mapping[str, Any]) -> Iterator[Finding]:
    if settings["dtype"] not in DTYPES:
        remedy = "auto would take whatever the files say; name it."
        yield _setting("dtype", settings["dtype"], ", ".join(DTYPES), remedy)
        return
    stored = settings["dtype"] if settings["kv_dtype"] == "auto" else settings["kv_dtype"]
    for name, value, part in (
        ("dtype", settings["dtype"], "activations"),
        ("kv_dtype", stored, "kv"),
    ):
        declared = artifact["precision"][part]["dtype"]
        if _as_declared(value) != declared:
            yield _setting(
                name,
                value,
                f"{declared}, as artifact.precision.{part}.dtype says",
                f"Change both: engine.settings.{name} and artifact.precision.{part}.",
            )


def _as_declared(dtype: str) -> str:
    """vLLM's names of KV formats as a declaration writes them."""
    return {"fp8": "float8_e4m3fn", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}.get(
        dtype, dtype
    )


def _setting(name: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return _finding(f"engine.settings.{name}", seen, allowed, remedy)


def _finding(field: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)
