"""Ready declarations for the platform's tests."""

from typing import Any

from assay.ledger.models import Study
from assay.ledger.services import Declaration, PlannedRun, create_study

SPEC: dict[str, Any] = {
    "artifact": {"name": "small-model"},
    "engine": {"key": "torch", "version": "1"},
    "device": {"name": "this machine", "kind": "cpu"},
    "prediction": {"enabled": False},
}


def planned(
    position: int = 0, *, digest: str = "a" * 64, repetition: int = 0, kind: str = "cpu"
) -> PlannedRun:
    spec = {**SPEC, "device": {"name": "this machine", "kind": kind}}
    return PlannedRun(spec=spec, spec_digest=digest, position=position, repetition=repetition)


def queued_study(
    runs: int = 1, *, name: str = "smoke", reserved_by: str = "", kind: str = "cpu"
) -> Study:
    return create_study(
        Declaration(name=name),
        [planned(n, kind=kind) for n in range(runs)],
        reserved_by=reserved_by,
    )
