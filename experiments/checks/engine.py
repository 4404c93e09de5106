"""Is the engine pinned, reachable by the installation's rules, and consistent with the artifact?"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from experiments.checks import image, replay, sglang, tensorrt_llm, vllm
from experiments.checks.policy import Policy
from experiments.errors import Finding

VERSION = re.compile(r"\d+(\.\d+)+([.+-]?[0-9A-Za-z]+)*")
ENVIRONMENT_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
TORCH_DTYPES = ("float32", "bfloat16", "float16")
LOWEST_PORT, HIGHEST_PORT = 1024, 65535
MOST_DELAY_S = 10.0  # of a step of the torch engine: a longer one is an engine that hangs


def check(document: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    """Everything that is wrong with ``engine`` and ``device``, alone or beside the artifact."""
    engine = document["engine"]
    is_endpoint = engine["key"] == "openai_endpoint"
    if not (is_endpoint and engine["version"] is None) and not VERSION.fullmatch(
        str(engine["version"])
    ):
        yield _finding(
            "engine.version", engine["version"], "one exact version", "A range or a name can move."
        )
    yield from _environment(engine["environment"], policy)
    if engine["reuse"] != "fresh":
        yield _finding(
            "engine.reuse", engine["reuse"], "fresh", "Every run starts an engine of its own."
        )
    port = engine["port"]
    if port is not None and not LOWEST_PORT <= port <= HIGHEST_PORT:
        allowed = f"null, or {LOWEST_PORT} to {HIGHEST_PORT}"
        yield _finding("engine.port", port, allowed, "Leave it out to take a free one.")
    for key in ("ready_timeout_s", "stop_timeout_s"):
        if engine[key] <= 0:
            yield _finding(f"engine.{key}", engine[key], "above 0", "Say how long to wait.")
    if document["device"]["kind"] not in ("cpu", "cuda"):
        yield _finding("device.kind", document["device"]["kind"], "cpu, cuda", "Name the kind.")
    if document["device"]["count"] < 1:
        yield _finding("device.count", document["device"]["count"], "at least 1", "Ask for one.")
    memory = document["device"]["host_memory_bytes"]
    if memory is not None and memory < 1:
        remedy = "Say how much the machine has to have."
        yield _finding("device.host_memory_bytes", memory, "null, or at least 1", remedy)
    if is_endpoint:
        yield from _endpoint(engine)
    elif engine["key"] == "replay":
        yield from replay.check(engine["settings"], policy)
    elif document["artifact"]["source"]["kind"] == "endpoint":
        yield _finding(
            "artifact.source.kind",
            "endpoint",
            "hf, package, folder",
            f"Only openai_endpoint serves an unknown artifact; {engine['key']} needs a pinned one.",
        )
    elif engine["key"] == "torch":
        yield from _torch(engine["settings"], document["artifact"]["precision"])
    elif engine["key"] == "vllm":
        yield from vllm.check(document)
    elif engine["key"] == "sglang":
        yield from sglang.check(document)
    elif engine["key"] == "tensorrt_llm":
        yield from tensorrt_llm.check(document)


def _environment(environment: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    kind, url = environment["kind"], environment["url"]
    yield from image.check(environment)
    if kind == "url" or url is not None:
        yield from _url(url, policy)


def _url(url: str | None, policy: Policy) -> Iterator[Finding]:
    allowed = f"http or https to one of {', '.join(policy.url_hosts) or 'no host'}"
    remedy = "Name one of these hosts, without user name or password."
    try:
        parts = urlsplit(url or "")
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    plain = parts.username is None and parts.password is None
    if parts.scheme not in ("http", "https") or host not in policy.url_hosts or not plain:
        seen = url if plain else "a URL with a user name or password"
        yield _finding("engine.environment.url", seen, allowed, remedy)


def _endpoint(engine: Mapping[str, Any]) -> Iterator[Finding]:
    kind, settings = engine["environment"]["kind"], engine["settings"]
    if kind != "url":
        yield _finding(
            "engine.environment.kind", kind, "url", "An endpoint is reached, never launched."
        )
    if not str(settings["model"]).strip():
        yield _finding("engine.settings.model", "empty", "a model's name", "See its /v1/models.")
    variable = settings["authorization_env"]
    if variable is not None and not ENVIRONMENT_NAME.fullmatch(str(variable)):
        # what stands there may be the key itself: it is not repeated
        yield _finding(
            "engine.settings.authorization_env",
            "no name of an environment variable",
            "null, or a name such as API_KEY",
            "Name the variable that holds the key, never the key.",
        )


def _torch(settings: Mapping[str, Any], precision: Mapping[str, Any]) -> Iterator[Finding]:
    for key in ("max_batch", "token_budget", "block_tokens", "kv_blocks", "max_length", "threads"):
        if settings[key] < 1:
            yield _finding(f"engine.settings.{key}", settings[key], "at least 1", "Raise it.")
    limit = settings["max_request_s"]
    if limit is not None and not 0 < limit < math.inf:
        allowed = "a number of seconds above 0, or null"
        yield _finding("engine.settings.max_request_s", limit, allowed, "Use null for no limit.")
    delay = settings.get("injected_delay_s", 0.0)  # specs frozen before it was a setting have none
    if not 0 <= delay <= MOST_DELAY_S:
        allowed = f"0 to {MOST_DELAY_S:g} seconds"
        yield _finding("engine.settings.injected_delay_s", delay, allowed, "0 is no fault at all.")
    if settings["token_budget"] < settings["max_batch"]:
        yield _finding(
            "engine.settings.token_budget",
            settings["token_budget"],
            f"at least engine.settings.max_batch ({settings['max_batch']})",
            "A step decodes one token of every running request.",
        )
    for key in ("dtype", "kv_dtype"):
        if settings[key] not in TORCH_DTYPES:
            allowed = ", ".join(TORCH_DTYPES)
            yield _finding(f"engine.settings.{key}", settings[key], allowed, "Name one of them.")
    pairs = (("dtype", "activations"), ("kv_dtype", "kv"))
    for setting, item in pairs:
        declared = precision[item]["dtype"]
        if settings[setting] != declared:
            yield _finding(
                f"engine.settings.{setting}",
                settings[setting],
                f"{declared}, as artifact.precision.{item}.dtype says",
                f"Change both: engine.settings.{setting} and artifact.precision.{item}.",
            )


def _finding(field: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)
