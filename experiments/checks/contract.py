"""Can the contract judge a task of this workload, and does the boundary say what was measured?"""

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

DEGRADATIONS = ("none", "partial")
SUCCESS = ("completed",)
BOUNDARY_TEXTS = ("sut", "dependency_accounting", "tool_assumption")
# Where a reply can be held back: the server's writes, the gateway's response, the client's reads.
BUFFERING_POINTS = ("engine", "gateway", "client")


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``contract``, ``boundary`` and ``prediction``."""
    contract = document["contract"]
    if contract["degradation"] not in DEGRADATIONS:
        yield _wrong("contract.degradation", contract["degradation"], ", ".join(DEGRADATIONS))
    if contract["success"] not in SUCCESS:
        yield _wrong("contract.success", contract["success"], ", ".join(SUCCESS))
    if contract["required_branches"] != 1:
        yield _wrong("contract.required_branches", contract["required_branches"], "1: single turn")
    limits = {"contract.deadline_s": contract["deadline_s"]}
    limits |= {f"contract.slo.{k}": v for k, v in contract["slo"].items()}
    for field, value in limits.items():
        if value is not None and value <= 0:
            yield _wrong(field, value, "above 0, or null for no limit")
    boundary = document["boundary"]
    for key in BOUNDARY_TEXTS:
        if not str(boundary[key]).strip():
            yield _wrong(f"boundary.{key}", "empty", "a sentence")
    if not boundary["included"]:
        yield _wrong("boundary.included", "nothing", "the parts inside the boundary")
    for point in BUFFERING_POINTS:
        if not str(boundary["buffering"].get(point) or "").strip():
            allowed = "how replies are buffered there, or that nothing is in the path"
            yield _wrong(f"boundary.buffering.{point}", "nothing", allowed)
    if not 0 < document["prediction"]["coverage"] < 1:
        coverage = document["prediction"]["coverage"]
        yield _wrong("prediction.coverage", coverage, "between 0 and 1, both excluded")


def _wrong(field: str, seen: Any, allowed: str) -> Finding:
    return Finding(
        field=field, seen=str(seen), allowed=allowed, remedy="It is stored before the run."
    )
