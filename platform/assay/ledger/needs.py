"""What a run needs of the machine that carries it out: devices, an engine of one version, memory.

Drawn from the declaration alone. Runs that need the same share one row, so that a worker finds its next run
by looking at the first of each need, however long the queue is.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict
from urllib.parse import urlsplit

from experiments.identity import canonical


class NeedDocument(TypedDict):
    """``environment`` is where the engine lies: platform, venv, container, or url (somebody else runs it)."""

    kind: str
    name: str
    count: int
    engine: str
    version: str | None
    environment: str
    lock_sha256: str | None
    image_digest: str | None
    host_memory_bytes: int | None
    # Other workers that send part of the load; absent where none is asked for.
    load_workers: NotRequired[int]
    is_loopback: NotRequired[
        bool
    ]  # they have to be on the engine's machine, which nobody else reaches


def need_of(spec: Mapping[str, Any]) -> NeedDocument:
    device, engine = spec["device"], spec["engine"]
    environment = engine.get("environment") or {}
    need = NeedDocument(
        kind=device["kind"],
        name=device["name"],
        count=device.get("count", 1),
        engine=engine["key"],
        version=engine["version"],
        environment=str(environment.get("kind", "platform")),
        lock_sha256=environment.get("lock_sha256"),
        image_digest=environment.get("image_digest"),
        host_memory_bytes=device.get("host_memory_bytes"),
    )
    if workers := (spec.get("load") or {}).get("workers", 0):
        need["load_workers"] = workers
        need["is_loopback"] = _listens_on_loopback(environment)
    return need


def _listens_on_loopback(environment: Mapping[str, Any]) -> bool:
    """An engine that is launched here listens on 127.0.0.1; one elsewhere is where its URL says."""
    if environment.get("kind") != "url":
        return True
    host = urlsplit(str(environment.get("url"))).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def need_digest(need: NeedDocument) -> str:
    return hashlib.sha256(canonical(dict(need))).hexdigest()


def in_words(need: NeedDocument) -> str:
    """``2 x H200 with vllm 0.33.0``, as a person asks for it."""
    words = f"{need['count']} x {need['name']} with {need['engine']}"
    if need["version"]:
        words += f" {need['version']}"
    if need["host_memory_bytes"]:
        words += f" and {need['host_memory_bytes'] / 2**30:g} GiB of memory"
    return words
