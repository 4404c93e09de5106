"""What each worker does now: the run that it carries out, or the one whose load it sends a part of."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from assay.execution import load_workers
from assay.execution.models import Execution, ExecutionState, LoadShare, ShareState
from assay.ledger.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """``process`` is the client process of its load that a load worker sends; None for the run itself."""

    run: Run
    process: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesOfLoad:
    """Parts of the load of running runs: ``waiting`` for a load worker since ``oldest``, or being sent."""

    waiting: int
    sending: int
    oldest: datetime | None


def by_worker() -> dict[str, Work]:
    """Workers that do nothing are not among them."""
    running = Execution.objects.filter(state=ExecutionState.running)
    found = {e.worker: Work(run=e.run) for e in running.select_related("run__study")}
    for share in _claimed().select_related("execution__run__study"):
        found[share.worker] = Work(run=share.execution.run, process=share.process)
    return found


def shares_of_load() -> SharesOfLoad:
    waiting = list(load_workers.not_yet_claimed().select_related("execution"))
    return SharesOfLoad(
        waiting=len(waiting),
        sending=_claimed().count(),
        oldest=min((share.execution.started_at for share in waiting), default=None),
    )


def _claimed() -> QuerySet[LoadShare]:
    return LoadShare.objects.filter(
        state=ShareState.claimed, execution__state=ExecutionState.running
    )
