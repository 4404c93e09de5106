"""The operations page: queues, workers, leases, room, what failed lately."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from assay.accounts.access import Access
from assay.archive.paths import Home
from assay.execution.models import Execution
from assay.ledger.models import Run
from assay.ledger.visibility import visible_runs
from assay.operations import state
from assay.operations.models import Removal
from assay.operations.readiness import Check, ready
from assay.pages.formatting import Quantity, duration, quantity
from runners.protocol.events import RunState

RECENT = 12
TROUBLE = (RunState.failed, RunState.lost, RunState.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    """``run`` is None for a run of a project that the reader may not see."""

    run: Run | None
    worker: str
    devices: Sequence[str]
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    queue: state.QueueState
    age: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """``run`` is what it works for; None where that is nothing, or is not the reader's to see."""

    worker: state.WorkerState
    silent: str
    run: Run | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationsPage:
    checks: Sequence[Check]
    runs: dict[str, int]
    queues: Sequence[QueueRow]
    workers: Sequence[WorkerRow]
    leases: Sequence[LeaseRow]
    disk_free: Quantity
    disk_total: Quantity
    disk_share: float
    home: str
    archive: state.ArchiveState | None
    sealing: Quantity | None
    failures: Sequence[Run]
    removals: Sequence[Removal]

    @property
    def has_load_workers(self) -> bool:
        return any(row.worker.sends_load for row in self.workers)


def operations_page(access: Access) -> OperationsPage:
    visible = visible_runs(access)
    room = state.disk(Home(settings.HOME))
    seconds = state.sealing_seconds()
    middle = seconds[len(seconds) // 2] if seconds else None
    return OperationsPage(
        checks=ready(),
        runs=state.runs_by_state(),
        queues=[
            QueueRow(queue=q, age=duration(q.age_s) if q.oldest else None) for q in state.queues()
        ],
        workers=_workers(access),
        leases=_leases(access),
        disk_free=quantity(room.free_bytes, "byte"),
        disk_total=quantity(room.total_bytes, "byte"),
        disk_share=room.free_bytes / room.total_bytes,
        home=str(room.path),
        archive=state.archive(),
        sealing=None if middle is None else quantity(middle, "s"),
        failures=list(
            visible.filter(state__in=[s.value for s in TROUBLE], ended_at__isnull=False)
            .select_related("study")
            .order_by("-ended_at")[:RECENT]
        ),
        removals=list(
            Removal.objects.filter(bundle__run__in=visible)
            .select_related("bundle")
            .order_by("-at")[:RECENT]
        ),
    )


def _workers(access: Access) -> list[WorkerRow]:
    found = state.workers()
    seen = _seen(access, [w.work.run.pk for w in found if w.work])
    return [
        WorkerRow(
            worker=worker,
            silent=duration(worker.silent_s),
            run=worker.work.run if worker.work and worker.work.run.pk in seen else None,
        )
        for worker in found
    ]


def _seen(access: Access, runs: Collection[UUID]) -> set[UUID]:
    """Of these runs, those that the reader may see."""
    return set(visible_runs(access).filter(id__in=runs).values_list("id", flat=True))


def _leases(access: Access) -> list[LeaseRow]:
    held: dict[object, list[str]] = {}
    for lease in state.open_device_leases():
        held.setdefault(lease.execution_id, []).append(f"{lease.device.host} {lease.device.name}")
    found = state.open_executions()
    seen = _seen(access, [e.run_id for e in found])
    return [
        LeaseRow(
            run=execution.run if execution.run_id in seen else None,
            worker=_short(execution),
            devices=held.get(execution.id, []),
            until=execution.leased_until,
        )
        for execution in found
    ]


def _short(execution: Execution) -> str:
    """``host (pid)`` of ``host/boot/pid/started``."""
    host, _boot, pid, _started = (*execution.worker.rsplit("/", 3), "", "", "")[:4]
    return _("{host}, process {pid}").format(host=host, pid=pid)
