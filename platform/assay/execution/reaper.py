"""End what a dead worker left. A lease that ran out makes its run ``lost``; what was captured is sealed.

Two steps, because the folder of an execution may lie on another machine than the one that notices:
``expire`` works on the database alone and runs anywhere; ``sweep`` seals folders of this machine.
"""

import logging
import secrets
import shutil
import socket
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, Value
from django.db.models.functions import Now

from assay.archive import store
from assay.archive.paths import Home
from assay.archive.quarantine import quarantine
from assay.archive.summary import BundleSummary, summarise
from assay.execution import announcing, device_leases, launcher, load_shares, watch
from assay.execution.interpreting import Reading, interpret
from assay.execution.leases import lease_end
from assay.execution.machine import Worker
from assay.execution.models import Execution, ExecutionState, Registration
from assay.ledger import indexing
from assay.ledger import services as ledger
from assay.ledger.models import Run
from runners.protocol import layout, manifest
from runners.protocol.events import RunState

log = logging.getLogger(__name__)

SWEEP_LEASES = 10  # a sweeper that dies itself is replaced after so many leases
ELSEWHERE_LEASES = (
    10  # a folder of another host is swept only after so many leases: that host is gone
)


def expire() -> list[UUID]:
    """Runs whose lease ran out become lost, wherever their worker was. Returns the executions ended."""
    load_shares.withdraw_orphans()
    if not watch.is_unbroken():
        return []
    over = Execution.objects.filter(state=ExecutionState.running, leased_until__lt=Now())
    reason = f"its worker gave no sign of life for {settings.LEASE_S:g} s"
    return [e.id for e in over if _lose(e, reason=reason, only_if_expired=True)]


def expire_dead_workers() -> list[UUID]:
    """The same at once for workers of this machine whose process is gone; also frees what they reserved."""
    for registered in Registration.objects.filter(host=socket.gethostname()):
        if Worker.parse(registered.worker).is_dead():
            registered.delete()
    here = Execution.objects.filter(
        state=ExecutionState.running, worker__startswith=f"{socket.gethostname()}/"
    )
    dead = [e for e in here if Worker.parse(e.worker).is_dead()]
    reserved = Run.objects.filter(state=RunState.queued, reserved_by__gt="").defer("spec")
    for run in reserved:
        if Worker.parse(run.reserved_by).is_dead():
            Run.objects.filter(id=run.id, state=RunState.queued).update(
                state=RunState.aborted,
                state_reason="the process that had reserved this run is gone",
                ended_at=Now(),
            )
    return [e.id for e in dead if _lose(e, reason="its worker process is gone")]


@transaction.atomic
def _lose(execution: Execution, *, reason: str, only_if_expired: bool = False) -> bool:
    mine = Execution.objects.filter(
        id=execution.id, token=execution.token, state=ExecutionState.running
    )
    if only_if_expired:
        mine = mine.filter(leased_until__lt=Now())
    if not mine.update(state=ExecutionState.lost):
        return False  # it was renewed or ended in between
    Run.objects.filter(id=execution.run_id, state=RunState.running).update(
        state=RunState.lost, state_reason=reason, ended_at=Now()
    )
    announcing.run_ended(execution.run_id)
    log.warning("run %s is lost: %s (%s)", execution.run_id, reason, execution.worker)
    return True


def sweep(home: Home) -> list[UUID]:
    """Seal, store and index what lost executions of this machine left behind."""
    long_ago = Now() - Value(timedelta(seconds=ELSEWHERE_LEASES * settings.LEASE_S))
    left = Execution.objects.filter(
        Q(worker__startswith=f"{socket.gethostname()}/") | Q(leased_until__lt=long_ago),
        state=ExecutionState.lost,
        ended_at=None,
        leased_until__lt=lease_end(),  # not taken over by a sweeper that is at work
    )
    return [e.id for e in left if _sweep_one(e, home)]


def _sweep_one(execution: Execution, home: Home) -> bool:
    token = _take_over(execution)
    if token is None:
        return False
    folder = Path(execution.folder)
    bundle = execution.out / layout.BUNDLE_FOLDER
    if not bundle.exists():
        _close(execution, token, exit_code=None)
        shutil.rmtree(folder, ignore_errors=True)
        return True
    ended = launcher.run_to_end(
        launcher.runner("reap", execution.out, "--state", RunState.lost),
        folder=folder,
        name="reap",
    )
    checked = manifest.verify(bundle)
    if not checked.ok:
        _set_aside(execution, token, home, bundle, [*checked.problems, ended.log_tail])
        return True
    summary = summarise(bundle)
    reading = interpret(home, bundle, digest=summary.digest, scratch=folder)
    _take_in(execution, token, home, bundle, summary, reading)
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _take_over(execution: Execution) -> str | None:
    """A token of our own: two sweepers never work on one folder, and the dead worker's token is void."""
    token = secrets.token_hex(32)
    taken = Execution.objects.filter(
        id=execution.id, token=execution.token, state=ExecutionState.lost, ended_at=None
    ).update(token=token, leased_until=lease_end(SWEEP_LEASES * settings.LEASE_S))
    return token if taken else None


@transaction.atomic
def _take_in(
    execution: Execution,
    token: str,
    home: Home,
    bundle: Path,
    summary: BundleSummary,
    reading: Reading,
) -> None:
    if not _close(execution, token, exit_code=None, bundle_digest=summary.digest):
        return
    store.put(home, bundle)
    row = ledger.record_bundle(summary, run=execution.run, execution_id=execution.id)
    if reading.document is not None:
        indexing.index_interpretation(row, reading.document, digest=reading.digest)


@transaction.atomic
def _set_aside(
    execution: Execution, token: str, home: Home, bundle: Path, problems: list[str]
) -> None:
    reason = "what the lost execution left could not be sealed"
    kept = quarantine(home, bundle, name=str(execution.id), reason=reason, problems=problems)
    ledger.record_quarantined(
        folder=kept.folder,
        reason=reason,
        problems=problems,
        execution_id=execution.id,
        run_id=execution.run_id,
    )
    _close(execution, token, exit_code=None)


@transaction.atomic
def _close(
    execution: Execution, token: str, *, exit_code: int | None, bundle_digest: str = ""
) -> bool:
    """Nothing of it runs any more: its row is sealed, its devices are free."""
    ended = Execution.objects.filter(id=execution.id, token=token, ended_at=None).update(
        ended_at=Now(), exit_code=exit_code, bundle_digest=bundle_digest
    )
    if ended:
        device_leases.release(execution.id)
    return bool(ended)
