"""Ready declarations for the platform's tests."""

from collections.abc import Sequence
from typing import Any

from assay.execution import registration
from assay.execution.offers import Offer, OfferedDevice, OfferedEngine
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


def offered(
    machine: str = "boot",
    *,
    queues: Sequence[str] = ("cpu",),
    accelerators: Sequence[str] = (),
    engines: Sequence[OfferedEngine] = (
        OfferedEngine(key="torch", version="1", environment="platform"),
    ),
    memory_bytes: int = 2**34,
) -> Offer:
    """A machine with its processors and these accelerators."""
    processors = OfferedDevice(id=f"{machine}/cpu", kind="cpu", index=0, name="a processor")
    others = [
        OfferedDevice(id=f"{machine}/cuda{n}", kind="cuda", index=n, name=name)
        for n, name in enumerate(accelerators)
    ]
    return Offer(
        machine=machine,
        host=f"host-{machine}",
        queues=tuple(queues),
        memory_bytes=memory_bytes,
        devices=(processors, *others),
        engines=tuple(engines),
    )


def kept(offer: Offer) -> Offer:
    """The same, its devices known to the database."""
    registration.keep_devices(offer)
    return offer
