"""Submitting, cancelling and finishing runs. All control goes through the database."""

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from assay.archive import store
from assay.archive.errors import DamagedBundle
from assay.archive.paths import Home
from assay.archive.quarantine import quarantine
from assay.archive.summary import BundleSummary
from assay.execution import announcing, leases
from assay.execution.interpreting import Reading
from assay.execution.leases import Claim
from assay.execution.models import Execution, ExecutionState
from assay.ledger import indexing
from assay.ledger import services as ledger
from assay.ledger.models import Bundle, Run
from assay.versions import confirming
from runners.protocol.events import RunState


def request_cancel(run_id: UUID) -> bool:
    """Ask for an end: a queued run is aborted at once, a running one by its worker's next heartbeat."""
    queued = Run.objects.filter(id=run_id, state=RunState.queued).update(
        state=RunState.aborted,
        state_reason="cancelled before it started",
        cancel_requested=True,
        ended_at=Now(),
    )
    if queued:
        announcing.run_ended(run_id)
        return True
    return bool(Run.objects.filter(id=run_id, state=RunState.running).update(cancel_requested=True))


@transaction.atomic
def finish_unlaunched(claim: Claim, *, state: RunState, reason: str, exit_code: int) -> bool:
    """End a run that left no bundle: refused by a pin or the environment, or stopped before launch."""
    if not leases.close(claim, state=ExecutionState.ended, exit_code=exit_code):
        return False
    _end_run(claim.run_id, state=state, reason=reason)
    return True


def finish_sealed(
    claim: Claim,
    home: Home,
    bundle: Path,
    summary: BundleSummary,
    reading: Reading,
    *,
    exit_code: int,
    note: str = "",
) -> Bundle | None:
    """Take a sealed bundle into the store and the index, if the execution is still ours.

    ``note`` joins the run's reason: what the platform saw and the bundle cannot know.
    A late result and a damaged one go to quarantine; None is returned and no number of it is indexed.
    """
    try:
        with transaction.atomic():
            ours = leases.close(
                claim,
                state=ExecutionState.ended,
                exit_code=exit_code,
                bundle_digest=summary.digest,
            )
            if ours:
                return _accept(claim, home, bundle, summary, reading, note=note)
            if (done := _finished_before(claim, summary)) is not None:
                return done
    except DamagedBundle as damage:
        quarantine_damaged(claim, home, bundle, damage.problems, exit_code=exit_code)
        return None
    quarantine_late(claim, home, bundle, digest=summary.digest)
    return None


def _finished_before(claim: Claim, summary: BundleSummary) -> Bundle | None:
    """The row, if this very result was taken in and only the answer to the commit got lost."""
    own = Execution.objects.filter(
        id=claim.execution_id, token=claim.token, bundle_digest=summary.digest
    )
    return Bundle.objects.filter(digest=summary.digest).first() if own.exists() else None


def _accept(
    claim: Claim, home: Home, bundle: Path, summary: BundleSummary, reading: Reading, *, note: str
) -> Bundle:
    if bundle.exists() or not home.bundle(summary.digest).is_dir():
        store.put(home, bundle)  # unless a try whose transaction was lost has brought it there
    run = Run.objects.get(id=claim.run_id)
    row = ledger.record_bundle(summary, run=run, execution_id=claim.execution_id)
    if reading.document is not None:
        indexing.index_interpretation(row, reading.document, digest=reading.digest)
    reasons = [r for r in (note, summary.reason, reading.problem) if r]
    _end_run(
        claim.run_id,
        state=summary.state,
        reason="; ".join(reasons),
        accepted_execution=claim.execution_id,
    )
    confirming.confirm_version(run, row, home.bundle(row.digest))
    return row


@transaction.atomic
def quarantine_damaged(
    claim: Claim, home: Home, bundle: Path, problems: Sequence[str], *, exit_code: int | None
) -> None:
    """The run's own bundle cannot be trusted: the run failed, the files are named and kept aside."""
    reason = "the bundle does not match its manifest"
    ours = leases.close(claim, state=ExecutionState.quarantined, exit_code=exit_code)
    if not bundle.exists():
        return  # a try whose transaction was lost has moved it already; its files say why
    kept = quarantine(home, bundle, name=str(claim.execution_id), reason=reason, problems=problems)
    ledger.record_quarantined(
        folder=kept.folder,
        reason=reason,
        problems=problems,
        execution_id=claim.execution_id,
        run_id=claim.run_id,
    )
    if ours:
        _end_run(claim.run_id, state=RunState.failed, reason=f"{reason}: {'; '.join(problems)}")


@transaction.atomic
def quarantine_late(claim: Claim, home: Home, bundle: Path, *, digest: str) -> None:
    """The lease was taken away before the result came: it is kept aside and overwrites nothing."""
    reason = "the result came after the lease of its execution had been taken away"
    if not bundle.exists():
        return  # whoever took the lease has sealed and stored it already
    kept = quarantine(home, bundle, name=str(claim.execution_id), reason=reason)
    ledger.record_quarantined(
        folder=kept.folder,
        reason=reason,
        problems=[],
        execution_id=claim.execution_id,
        run_id=claim.run_id,
        bundle_digest=digest,
    )


def _end_run(
    run_id: UUID, *, state: RunState, reason: str, accepted_execution: UUID | None = None
) -> None:
    ended = Run.objects.filter(id=run_id, state=RunState.running).update(
        state=state,
        state_reason=reason,
        accepted_execution=accepted_execution,
        ended_at=Now(),
        reserved_by="",
    )
    if ended:
        announcing.run_ended(run_id)
