"""The queue of record. A run is claimed, kept and finished by conditional updates alone.

Every write of an execution repeats its token in the WHERE: if no row changed, the execution was taken away
and the writer has lost. Times of a lease are the database's own ``now()``, never a worker's clock.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import DateTimeField, ExpressionWrapper, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Abs, Now

from assay.archive.paths import Home
from assay.execution import device_leases, load_workers
from assay.execution.device_leases import DevicesBusy, HeldDevice
from assay.execution.machine import Worker
from assay.execution.matching import lacking
from assay.execution.models import OUT_FOLDER, Execution, ExecutionState
from assay.execution.offers import Offer
from assay.ledger.ids import uuid7
from assay.ledger.models import Need, Run
from assay.ledger.needs import need_of
from runners.protocol.events import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One execution as its worker holds it."""

    execution_id: UUID
    token: str
    run_id: UUID
    study: str
    repetition: int
    position: int
    runs: int  # of its study
    spec: Mapping[str, Any]
    spec_digest: str
    folder: Path
    devices: tuple[HeldDevice, ...]

    @property
    def out(self) -> Path:
        """Where the runner works."""
        return self.folder / OUT_FOLDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """What a heartbeat learns: whether the lease still stands, and whether somebody asked to stop."""

    held: bool
    cancel_requested: bool


def lease_end(seconds: float | None = None) -> "ExpressionWrapper[CombinedExpression]":
    """The database's now() plus the lease, as an expression."""
    lease = timedelta(seconds=settings.LEASE_S if seconds is None else seconds)
    return ExpressionWrapper(Now() + Value(lease), output_field=DateTimeField())


def claim_next(worker: Worker, *, home: Home, offer: Offer) -> Claim | None:
    """Take the next run that this machine has what it needs for; None if there is none or it is busy."""
    try:
        with transaction.atomic():
            run = _next_run(worker, offer)
            return None if run is None else _claim(run, worker, home=home, offer=offer)
    except DevicesBusy:
        return None


@transaction.atomic
def claim_run(run_id: UUID, worker: Worker, *, home: Home, offer: Offer) -> Claim | None:
    """Take the given run; None if somebody was first. Raises DevicesBusy.

    Whoever names a run wants it here: what it lacks is said when it is prepared.
    """
    run = Run.objects.filter(
        id=run_id,
        state=RunState.queued,
        cancel_requested=False,
        reserved_by__in=["", str(worker)],
    ).first()
    return None if run is None else _claim(run, worker, home=home, offer=offer)


def _next_run(worker: Worker, offer: Offer) -> Run | None:
    """The first by study, position and repetition (study ids sort by time) among the needs that fit."""
    fitting = [need for need in needs_with_work(offer.queues) if not lacking(need.document, offer)]
    if any(need.document.get("load_workers") for need in fitting):
        there = load_workers.registered()
        fitting = [
            n
            for n in fitting
            if not load_workers.short_of(n.document, there, lead=str(worker), offer=offer)
        ]
    heads = Run.objects.filter(id__in=[need.head for need in fitting])
    in_order = heads.order_by("study_id", "position", "repetition")
    for need_id in in_order.values_list("need_id", flat=True):
        waiting = queued_of_need().filter(need=need_id)
        if connection.features.has_select_for_update_skip_locked:
            waiting = waiting.select_for_update(skip_locked=True)
        if (run := waiting.first()) is not None:
            return run
    return None


def queued_of_need() -> QuerySet[Run]:
    """Runs that any worker may take, in the order of the queue.

    A position is never negative: its absolute value is what the queue's own index is in the order of, and no
    other one. By the plain column PostgreSQL walks the index of places in a study, past every run that ended.
    """
    return Run.objects.filter(
        state=RunState.queued, cancel_requested=False, reserved_by=""
    ).order_by("study_id", Abs("position"), "repetition")


def needs_with_work(queues: Collection[str] | None = None) -> list[Any]:
    """Needs that a run waits for, each with its first run as ``head``: a short look into the index each."""
    first = queued_of_need().filter(need=OuterRef("pk")).values("id")[:1]
    needs = Need.objects.annotate(head=Subquery(first)).filter(head__isnull=False)
    return list(needs if queues is None else needs.filter(queue__in=queues))


def _claim(run: Run, worker: Worker, *, home: Home, offer: Offer) -> Claim | None:
    taken = Run.objects.filter(id=run.id, state=RunState.queued, cancel_requested=False).update(
        state=RunState.running, started_at=Now(), progress={"phase": "claimed"}
    )
    if not taken:
        return None
    execution_id = uuid7()
    execution = Execution.objects.create(
        id=execution_id,
        run=run,
        token=secrets.token_hex(32),
        worker=str(worker),
        folder=str(home.executions / str(execution_id)),
        leased_until=lease_end(),
    )
    need = need_of(run.spec)
    if need.get("load_workers"):
        processes = run.spec["load"]["processes"]
        load_workers.plan_shares(execution, need, processes=processes, offer=offer)
    return Claim(
        execution_id=execution.id,
        token=execution.token,
        run_id=run.id,
        study=run.study.name,
        repetition=run.repetition,
        position=run.position,
        runs=Run.objects.filter(study_id=run.study_id).count(),
        spec=run.spec,
        spec_digest=run.spec_digest,
        folder=Path(execution.folder),
        devices=device_leases.take(execution, need, offer),
    )


@transaction.atomic
def renew(claim: Claim, *, progress: Mapping[str, Any] | None = None) -> Pulse:
    """A sign of life: extend the lease and publish how far the run is."""
    held = bool(_mine(claim).update(leased_until=lease_end()))
    if held and progress:
        Run.objects.filter(
            id=claim.run_id,
            executions__id=claim.execution_id,
            executions__token=claim.token,
            executions__state=ExecutionState.running,
        ).update(progress=dict(progress))
    cancel = Run.objects.filter(id=claim.run_id, cancel_requested=True).exists()
    return Pulse(held=held, cancel_requested=cancel)


@transaction.atomic
def close(
    claim: Claim, *, state: ExecutionState, exit_code: int | None, bundle_digest: str = ""
) -> bool:
    """End the execution and give its devices back, if it is still ours. From here on its row is sealed."""
    ended = _mine(claim).update(
        state=state, ended_at=Now(), exit_code=exit_code, bundle_digest=bundle_digest
    )
    if ended:
        device_leases.release(claim.execution_id)
    return bool(ended)


def _mine(claim: Claim) -> Any:
    return Execution.objects.filter(
        id=claim.execution_id, token=claim.token, state=ExecutionState.running
    )
