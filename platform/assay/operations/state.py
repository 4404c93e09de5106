"""How the platform itself is doing: what waits, who works, what is held, how much room is left."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import Count, Min, Q
from django.utils import timezone

from assay.archive.errors import ArchiveError
from assay.archive.paths import Home
from assay.archive.remote.location import remote_from_environment
from assay.execution import load_workers
from assay.execution.models import DeviceLease, Execution, Registration
from assay.execution.registration import SILENT_LEASES, live
from assay.ledger.models import Bundle, Run
from assay.operations import at_work
from assay.operations.archiving import pending
from assay.operations.at_work import Work
from assay.operations.models import Upload
from runners.protocol.events import RunState

TAKEN_IN = 200  # newest bundles of which it is said how long they took from seal to acceptance
RECENTLY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """Runs of one device kind, or parts of a load. ``workers`` counts those alive that serve it."""

    name: str
    waiting: int
    running: int
    oldest: datetime | None
    age_s: float
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    worker: str
    host: str
    queues: tuple[str, ...]
    engines: int
    seen_at: datetime
    silent_s: float
    is_alive: bool
    # Nothing keeps it from the next run, or a load worker from the next part of a load.
    is_free: bool
    work: Work | None

    @property
    def sends_load(self) -> bool:
        return load_workers.QUEUE in self.queues


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskState:
    """The file system that holds the home."""

    path: Path
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveState:
    """``pending`` counts bundles that the archive is not known to hold."""

    url: str
    pending: int
    troubled: int
    last_sent: datetime | None


def runs_by_state() -> dict[str, int]:
    """Every state, those with no run too: a metric that comes and goes cannot be watched."""
    counted = dict(Run.objects.order_by().values_list("state").annotate(Count("id")))
    return {state.value: counted.get(state.value, 0) for state in RunState}


def queues() -> list[QueueState]:
    now = timezone.now()
    rows = (
        Run.objects.order_by()
        .filter(state__in=[RunState.queued, RunState.running])
        .values("queue")
        .annotate(
            waiting=Count("id", filter=Q(state=RunState.queued)),
            running=Count("id", filter=Q(state=RunState.running)),
            oldest=Min("created_at", filter=Q(state=RunState.queued)),
        )
        .values_list("queue", "waiting", "running", "oldest")
    )
    by_name = {name: (waiting, running, oldest) for name, waiting, running, oldest in rows}
    shares = at_work.shares_of_load()
    if shares.waiting or shares.sending:
        by_name[load_workers.QUEUE] = (shares.waiting, shares.sending, shares.oldest)
    serving = [queue for row in live() for queue in row.offer.get("queues", ())]
    found = []
    for name in sorted({*by_name, *serving, *settings.QUEUES}):
        waiting, running, oldest = by_name.get(name, (0, 0, None))
        found.append(
            QueueState(
                name=name,
                waiting=waiting,
                running=running,
                oldest=oldest,
                age_s=(now - oldest).total_seconds() if oldest else 0.0,
                workers=serving.count(name),
            )
        )
    return found


def workers() -> list[WorkerState]:
    now, silent_after = timezone.now(), SILENT_LEASES * settings.LEASE_S
    work = at_work.by_worker()
    spoken_for = {w.worker for w in load_workers.registered() if not w.is_free}
    found = []
    for row in Registration.objects.order_by("host", "worker"):
        silent = max(0.0, (now - row.seen_at).total_seconds())
        found.append(
            WorkerState(
                worker=row.worker,
                host=row.host,
                queues=tuple(row.offer.get("queues", ())),
                engines=len(row.offer.get("engines", ())),
                seen_at=row.seen_at,
                silent_s=silent,
                is_alive=silent <= silent_after,
                is_free=row.worker not in work and row.worker not in spoken_for,
                work=work.get(row.worker),
            )
        )
    return found


def open_executions() -> Sequence[Execution]:
    """What holds a lease, or left one behind; the one that runs out first on top."""
    found = Execution.objects.filter(ended_at=None).select_related("run__study")
    return list(found.order_by("leased_until"))


def open_device_leases() -> Sequence[DeviceLease]:
    found = DeviceLease.objects.filter(released_at=None)
    return list(found.select_related("device", "execution__run__study").order_by("taken_at"))


def disk(home: Home) -> DiskState:
    there = next(p for p in (home.root, *home.root.parents) if p.exists())
    found = shutil.disk_usage(there)
    return DiskState(path=home.root, total_bytes=found.total, free_bytes=found.free)


def archive() -> ArchiveState | None:
    """What the index knows of the archive; asks nothing of the archive itself."""
    try:
        remote = remote_from_environment()
    except ArchiveError:
        return None  # doctor and `assay archive` say what is wrong with the setting
    if remote is None:
        return None
    uploads = Upload.objects.filter(archive=remote.url)
    newest = uploads.filter(sent_at__isnull=False).order_by("-sent_at").first()
    return ArchiveState(
        url=remote.url,
        pending=pending(remote).count(),
        troubled=uploads.filter(sent_at=None).exclude(problem="").count(),
        last_sent=newest.sent_at if newest else None,
    )


def sealing_seconds() -> list[float]:
    """From the seal of a bundle to its acceptance: verified, stored, interpreted, indexed. Sorted."""
    ended = Execution.objects.filter(ended_at__gt=timezone.now() - RECENTLY).exclude(
        bundle_digest=""
    )
    newest = ended.order_by("-ended_at").values_list("bundle_digest", "ended_at")[:TAKEN_IN]
    rows = {digest: at for digest, at in newest if at is not None}
    sealed = Bundle.objects.filter(digest__in=list(rows), imported=False)
    return sorted(
        max(0.0, (rows[digest] - at).total_seconds())
        for digest, at in sealed.values_list("digest", "sealed_at")
    )
