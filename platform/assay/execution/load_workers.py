"""Workers that offer themselves to send part of another worker's load: who is there, who is free.

They serve the queue ``load``. A run that asks for load workers waits until enough of them are free, so that
no engine is started for a load that nobody sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assay.archive.remote.location import remote_from_environment
from assay.execution import registration
from assay.execution.models import Execution, ExecutionState, LoadShare, ShareState
from assay.execution.offers import Offer
from assay.ledger.needs import NeedDocument

QUEUE = "load"
_WAITED_FOR = (ShareState.planned, ShareState.offered)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWorker:
    worker: str
    machine: str
    is_free: bool


def registered() -> list[LoadWorker]:
    """Load workers that gave a sign of life lately.

    Of those that are idle, as many are taken for spoken for as shares wait to be claimed.
    """
    there = [row for row in registration.live() if QUEUE in row.offer["queues"]]
    if not there:
        return []
    busy = {*_workers_of_runs(), *_workers_of_shares()}
    idle = [row.worker for row in there if row.worker not in busy]
    spoken_for = LoadShare.objects.filter(
        state__in=_WAITED_FOR, execution__state=ExecutionState.running
    ).count()
    free = set(idle[spoken_for:])
    return [
        LoadWorker(worker=row.worker, machine=row.machine, is_free=row.worker in free)
        for row in there
    ]


def short_of(
    need: NeedDocument, found: Sequence[LoadWorker], *, lead: str, machine: str, host: str
) -> str:
    """``waits for 2 load workers; 1 registered``; empty where enough are free for worker ``lead``.

    ``machine`` and ``host`` are where it would start the engine. It sends no share itself.
    """
    wanted = need.get("load_workers", 0)
    others = [w for w in found if w.worker != lead]
    near = [w for w in others if not is_bound_to_machine(need) or w.machine == machine]
    busy = sum(not w.is_free for w in near)
    if len(near) - busy >= wanted:
        return ""
    what = ngettext("waits for {n} load worker", "waits for {n} load workers", wanted)
    words = _("{what}; {there} registered").format(what=what.format(n=wanted), there=len(near))
    if busy:
        words += _(", {busy} busy").format(busy=busy)
    if len(others) > len(near):
        why = _loopback() if need.get("is_loopback") else _no_archive()
        words += _(" on {host} ({why}), {n} elsewhere").format(
            host=host, why=why, n=len(others) - len(near)
        )
    return words


def is_bound_to_machine(need: NeedDocument) -> bool:
    """Whether load workers have to be on the machine of the engine: nobody else reaches it, or its plan."""
    return bool(need.get("is_loopback")) or remote_from_environment() is None


def plan_shares(execution: Execution, need: NeedDocument, *, processes: int, offer: Offer) -> None:
    """A row for each client process that load workers send: the last ones of the run."""
    workers = need.get("load_workers", 0)
    machine = offer.machine if is_bound_to_machine(need) else ""
    LoadShare.objects.bulk_create(
        LoadShare(execution=execution, process=process, machine=machine)
        for process in range(processes - workers + 1, processes + 1)
    )


def _workers_of_runs() -> list[str]:
    running = Execution.objects.filter(state=ExecutionState.running)
    return list(running.values_list("worker", flat=True))


def _workers_of_shares() -> list[str]:
    held = LoadShare.objects.filter(state=ShareState.claimed)
    return list(held.values_list("worker", flat=True))


def _loopback() -> str:
    return _("its engine listens on loopback")


def _no_archive() -> str:
    return _("no archive carries the plan: ASSAY_ARCHIVE")
