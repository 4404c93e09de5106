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
from django.db.models import DateTimeField, ExpressionWrapper, Value
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from assay.archive.paths import Home
from assay.execution.machine import Worker
from assay.execution.models import OUT_FOLDER, Execution, ExecutionState
from assay.ledger.ids import uuid7
from assay.ledger.models import Run
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


@transaction.atomic
def claim_next(
    worker: Worker, *, home: Home, queues: Collection[str], run_id: UUID | None = None
) -> Claim | None:
    """Take the next eligible run, or the given one; None if there is none or somebody was first."""
    eligible = Run.objects.filter(
        state=RunState.queued,
        cancel_requested=False,
        queue__in=queues,
        reserved_by__in=["", str(worker)],
    ).order_by("study_id", "position", "repetition")  # study ids sort by time
    if run_id is not None:
        eligible = eligible.filter(id=run_id)
    if connection.features.has_select_for_update_skip_locked:
        eligible = eligible.select_for_update(skip_locked=True)
    run = eligible.first()
    if run is None:
        return None
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


def close(
    claim: Claim, *, state: ExecutionState, exit_code: int | None, bundle_digest: str = ""
) -> bool:
    """End the execution if it is still ours. From here on its row is sealed."""
    return bool(
        _mine(claim).update(
            state=state, ended_at=Now(), exit_code=exit_code, bundle_digest=bundle_digest
        )
    )


def _mine(claim: Claim) -> Any:
    return Execution.objects.filter(
        id=claim.execution_id, token=claim.token, state=ExecutionState.running
    )
