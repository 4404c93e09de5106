"""A queued run whose load asks for load workers, and the machines that may send it."""

from typing import Any

from assay.execution import leases, load_shares, registration
from assay.execution.leases import Claim
from assay.execution.machine import Worker
from assay.execution.models import LoadShare
from assay.execution.offers import Offer
from assay.ledger.models import Run
from assay.ledger.services import Declaration, PlannedRun, create_study
from tests.assay.specs import SPEC, kept, offered

PLAN = {"url": "file:///plan", "folder": "/plan", "files": [], "secret_names": []}


def queued_run(*, workers: int = 2, processes: int = 3, url: str = "http://10.1.1.1") -> Run:
    spec: dict[str, Any] = {
        **SPEC,
        "engine": {
            "key": "openai_endpoint",
            "version": None,
            "environment": {"kind": "url", "url": url},
        },
        "load": {"processes": processes, "workers": workers},
    }
    planned = PlannedRun(spec=spec, spec_digest="a" * 64, position=0, repetition=0)
    return create_study(Declaration(name="shared"), [planned]).runs.get()


def a_worker(number: int) -> Worker:
    return Worker(host=f"host-{number}", boot=f"boot{number}", pid=number, started="1")


def load_machine(number: int) -> Offer:
    return offered(f"machine-{number}", queues=["load"])


def register_load_workers(count: int) -> None:
    for number in range(1, count + 1):
        registration.register(a_worker(number), load_machine(number))


def claimed_and_offered(worker: Worker, home: Any) -> Claim:
    """The run claimed by its own worker, its plan offered."""
    claim = leases.claim_next(worker, home=home, offer=kept(offered()))
    assert claim is not None
    load_shares.offer(claim, PLAN)
    return claim


def states() -> list[str]:
    return list(LoadShare.objects.order_by("process").values_list("state", flat=True))
