"""What a run needs of the machine that carries it out: devices, an engine of one version, memory.

Drawn from the declaration alone. Runs that need the same share one row, so that a worker finds its next run
by looking at the first of each need, however long the queue is.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, TypedDict

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


def need_of(spec: Mapping[str, Any]) -> NeedDocument:
    device, engine = spec["device"], spec["engine"]
    environment = engine.get("environment") or {}
    return NeedDocument(
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
