"""Does the declared parallel layout fit the declared devices, and is what ties them named?"""

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding
from experiments.schema.parallel import KNOWN_LIMITS


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """``engine.parallel`` beside ``device.count`` and ``device.interconnect``."""
    parallel, device = document["engine"]["parallel"], document["device"]
    for kind in KNOWN_LIMITS:
        if parallel[kind] < 1:
            yield _finding(
                f"engine.parallel.{kind}", parallel[kind], "at least 1", "Use 1 for none."
            )
            return
    needed = parallel["data"] * parallel["tensor"] * parallel["pipeline"]
    if needed != device["count"]:
        yield _finding(
            "engine.parallel",
            f"data {parallel['data']} x tensor {parallel['tensor']} x pipeline {parallel['pipeline']}"
            f" = {needed} devices",
            f"device.count ({device['count']})",
            "Change one of them.",
        )
    if (parallel["data"] * parallel["tensor"]) % parallel["expert"]:
        yield _finding(
            "engine.parallel.expert",
            parallel["expert"],
            f"a divisor of data x tensor ({parallel['data'] * parallel['tensor']})",
            "Experts are spread over these devices.",
        )
    if device["count"] > 1 and not device["interconnect"]:
        yield _finding(
            "device.interconnect",
            device["interconnect"],
            "a name for what ties the devices, for instance NVLink 4 or PCIe 5 x16",
            "A record of several devices is not interpretable without it.",
        )
    if document["engine"]["key"] == "torch" and needed > 1:
        yield _finding(
            "engine.parallel", f"{needed} devices", "1 with the torch engine", "Use one."
        )


def _finding(field: str, seen: Any, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=str(seen), allowed=allowed, remedy=remedy)
