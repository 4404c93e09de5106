"""Workers that offer themselves to send part of another worker's load: who is there, who is free.

They serve the queue ``load``. A run that asks for load workers waits until enough of them are free, so that
no engine is started for a load that nobody sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assay.archive.remote.location import remote_from_environment
from assay.execution import registration
from assay.execution.models import DeviceLease, Execution, ExecutionState, LoadShare, ShareState
from assay.execution.offers import Offer
from assay.ledger.needs import NeedDocument

QUEUE = "load"
_WAITED_FOR = (ShareState.planned, ShareState.offered)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWorker:
    """``machine``, ``network`` and ``home`` as its offer names them."""

    worker: str
    machine: str
    network: str
    home: str
    is_free: bool


def registered() -> list[LoadWorker]:
    """Load workers that gave a sign of life lately.

    One is not free while it works, nor while another run holds the processors of its machine. Of the others
    as many are taken for spoken for as shares wait to be claimed.
    """
    there = [row for row in registration.live() if QUEUE in row.offer["queues"]]
    if not there:
        return []
    busy, held = {*_workers_of_runs(), *_workers_of_shares()}, _machines_held()
    idle = [row.worker for row in there if row.worker not in busy and row.machine not in held]
    free = set(idle[not_yet_claimed().count() :])
    return [
        LoadWorker(
            worker=row.worker,
            machine=row.machine,
            network=row.offer.get("network", ""),
            home=row.offer.get("home", ""),
            is_free=row.worker in free,
        )
        for row in there
    ]


def not_yet_claimed() -> QuerySet[LoadShare]:
    """Shares of running runs that wait for a load worker."""
    return LoadShare.objects.filter(state__in=_WAITED_FOR, execution__state=ExecutionState.running)


def short_of(need: NeedDocument, found: Sequence[LoadWorker], *, lead: str, offer: Offer) -> str:
    """``waits for 2 load workers; 1 registered. Start 1 more: assay worker --load``.

    Empty where enough are free for worker ``lead``, who would start the engine on the machine of ``offer``
    and sends no share itself. Of those in one home one counts, in the lead's home none.
    """
    wanted, place = need.get("load_workers", 0), bound_to(need, offer)
    others = [w for w in found if w.worker != lead]
    apart = _one_a_home(others, offer)
    near = [w for w in apart if place in ("", w.machine, w.network)]
    busy = sum(not w.is_free for w in near)
    if len(near) - busy >= wanted:
        return ""
    what = ngettext("waits for {n} load worker", "waits for {n} load workers", wanted)
    words = _("{what}; {there} registered").format(what=what.format(n=wanted), there=len(near))
    words += _(", {busy} busy").format(busy=busy) if busy else ""
    words += _on_host(need, offer) if place else ""
    if beyond := len(apart) - len(near):
        words += _(", {n} elsewhere").format(n=beyond)
    if hidden := len(others) - len(apart):
        words += _(", {n} in the home of another worker").format(n=hidden)
    if (missing := wanted - len(near)) > 0:
        words += _remedy(missing, is_bound=bool(place), is_hidden=bool(hidden))
    return words


def bound_to(need: NeedDocument, offer: Offer) -> str:
    """Where alone load workers may be: at the engine's loopback, at the plan's folder, or anywhere ("")."""
    if need.get("is_loopback"):
        return offer.network or offer.machine
    return offer.machine if remote_from_environment() is None else ""


def _one_a_home(found: Sequence[LoadWorker], lead: Offer) -> list[LoadWorker]:
    """A home carries out one thing at a time; who does not name its own is taken to have one."""
    free_last = sorted(found, key=lambda w: w.is_free)
    by_home = {(w.machine, w.home or w.worker): w for w in free_last}
    by_home.pop((lead.machine, lead.home), None)
    return list(by_home.values())


def _on_host(need: NeedDocument, offer: Offer) -> str:
    if need.get("is_loopback"):
        why = _("its engine listens on loopback")
    else:
        why = _("no archive carries the plan: ASSAY_ARCHIVE")
    return _(" on {host} ({why})").format(host=offer.host, why=why)


def _remedy(missing: int, *, is_bound: bool, is_hidden: bool) -> str:
    """The command, with a home of its own where the usual one may be another worker's."""
    own = "ASSAY_HOME=A_NEW_FOLDER " if is_bound or is_hidden else ""
    where = _(". Start {n} more there: {command}") if is_bound else _(". Start {n} more: {command}")
    return where.format(n=missing, command=f"{own}assay worker --load")


def plan_shares(execution: Execution, need: NeedDocument, *, processes: int, offer: Offer) -> None:
    """A row for each client process that load workers send: the last ones of the run."""
    workers = need.get("load_workers", 0)
    machine = bound_to(need, offer)
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


def _machines_held() -> set[str]:
    """Machines whose processors an execution holds."""
    held = DeviceLease.objects.filter(released_at=None, device__kind="cpu")
    return set(held.values_list("device__machine", flat=True))
