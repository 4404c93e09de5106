"""Can the contract judge a task of this workload?"""

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.errors import Finding

DEGRADATIONS = ("none", "partial")
SUCCESS = ("completed",)


def check(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that is wrong with ``contract`` and ``prediction``."""
    contract = document["contract"]
    if contract["degradation"] not in DEGRADATIONS:
        yield _wrong("contract.degradation", contract["degradation"], ", ".join(DEGRADATIONS))
    if contract["success"] not in SUCCESS:
        yield _wrong("contract.success", contract["success"], ", ".join(SUCCESS))
    yield from _branches(contract, document["workload"])
    limits = {"contract.deadline_s": contract["deadline_s"]}
    limits |= {f"contract.slo.{k}": v for k, v in contract["slo"].items()}
    for field, value in limits.items():
        if value is not None and value <= 0:
            yield _wrong(field, value, "above 0, or null for no limit")
    if not 0 < document["prediction"]["coverage"] < 1:
        coverage = document["prediction"]["coverage"]
        yield _wrong("prediction.coverage", coverage, "between 0 and 1, both excluded")


def _branches(contract: Mapping[str, Any], workload: Mapping[str, Any]) -> Iterator[Finding]:
    rule = workload["branching"] if workload["structure"] == "branching" else None
    required = rule["branches"] - rule["optional"] if rule else 1
    if not 1 <= contract["required_branches"] <= required:
        allowed = f"1 to {required}, the required branches of this workload"
        yield _wrong("contract.required_branches", contract["required_branches"], allowed)


def _wrong(field: str, seen: Any, allowed: str) -> Finding:
    return Finding(
        field=field, seen=str(seen), allowed=allowed, remedy="It is stored before the run."
    )
