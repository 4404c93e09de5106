"""Is the engine pinned, reachable by the installation's rules, and consistent with the artifact?"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from experiments.checks.policy import Policy
from experiments.errors import Finding

VERSION = re.compile(r"\d+(\.\d+)+([.+-]?[0-9A-Za-z]+)*")
IMAGE_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
TORCH_DTYPES = ("float32", "bfloat16", "float16")
LOWEST_PORT, HIGHEST_PORT = 1024, 65535


def check(document: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    """Everything that is wrong with ``engine`` and ``device``, alone or beside the artifact."""
    engine = document["engine"]
    if not VERSION.fullmatch(str(engine["version"])):
        yield _finding(
            "engine.version", engine["version"], "one exact version", "A range or a name can move."
        )
    yield from _environment(engine["environment"], policy)
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
    if engine["key"] == "torch":
        yield from _torch(engine["settings"], document["artifact"]["precision"])


def _environment(environment: Mapping[str, Any], policy: Policy) -> Iterator[Finding]:
    kind, url = environment["kind"], environment["url"]
    if kind == "container" and not IMAGE_DIGEST.fullmatch(str(environment["image_digest"])):
        yield _finding(
            "engine.environment.image_digest",
            environment["image_digest"],
            "sha256: and 64 hexadecimal digits",
            "A tag can move; pin the image by digest.",
        )
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


def _torch(settings: Mapping[str, Any], precision: Mapping[str, Any]) -> Iterator[Finding]:
    for key in ("max_batch", "token_budget", "block_tokens", "kv_blocks", "max_length", "threads"):
        if settings[key] < 1:
            yield _finding(f"engine.settings.{key}", settings[key], "at least 1", "Raise it.")
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
