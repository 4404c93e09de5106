"""Why queued runs wait, as a person can read it: what nobody here has, or who is before them.

The order is that in which workers take them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assay.execution import load_workers
from assay.execution.leases import queued_of_need
from assay.execution.matching import devices_for, engines_for, lacking
from assay.execution.offers import Offer
from assay.execution.registration import live, live_offers
from assay.ledger.models import Need, Run
from assay.ledger.needs import NeedDocument, in_words

LOOKED_AT = 1000  # of the queue's front: a run further back is told that so many are before it
NAMED = 3  # machines whose lack is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """``ahead`` runs are taken before this one by whoever serves its queue."""

    ahead: int
    queue: str
    why: str


def waiting(runs: Sequence[Run]) -> dict[UUID, Waiting]:
    """Of those among ``runs`` that are queued. Three queries and one a queue, none without a queued one.

    A few more for those that ask for load workers.
    """
    queued = {run.id: run for run in runs if run.state == "queued"}
    if not queued:
        return {}
    busy = dict(
        Run.objects.filter(state="running").order_by().values_list("queue").annotate(Count("id"))
    )
    ahead = _places({run.queue for run in queued.values()})
    lacks = _lacks({run.need_id for run in queued.values() if run.need_id})
    found = {}
    for run_id, run in queued.items():
        before = 0 if run.reserved_by else ahead.get(run_id, LOOKED_AT)
        why = lacks.get(run.need_id or "", "") if not run.reserved_by else ""
        why = why or _why(run, before, busy.get(run.queue, 0))
        found[run_id] = Waiting(ahead=before, queue=run.queue, why=why)
    return found


def explain(rows: Sequence[dict[str, Any]], runs: Sequence[Run]) -> None:
    """Say in the ``reason`` of rows or objects of queued runs why they wait."""
    found = waiting(runs)
    for row, run in zip(rows, runs, strict=True):
        if run.id in found:
            row["reason"] = found[run.id].why


def _lacks(digests: set[str]) -> Mapping[str, str]:
    """For each need what no machine has; an empty text where one has it all."""
    if not digests:
        return {}
    offers = live_offers()
    needs = Need.objects.filter(digest__in=digests)
    return {
        need.digest: not_offered(need.document, offers) or _no_senders(need.document)
        for need in needs
    }


def _no_senders(need: NeedDocument) -> str:
    """Where a machine has it all: which load workers are still waited for, said of the nearest worker."""
    if not need.get("load_workers"):
        return ""
    there = load_workers.registered()
    offers = ((row.worker, Offer.parse(row.offer)) for row in live())
    words = [
        load_workers.short_of(need, there, lead=worker, offer=offer)
        for worker, offer in offers
        if not lacking(need, offer)
    ]
    return min(words, key=len, default="")


def not_offered(need: NeedDocument, offers: Sequence[Offer]) -> str:
    """``needs 2 x H200 with vllm 0.33.0; none registered``; empty where somebody offers it."""
    what = in_words(need)
    if not offers:
        return _("needs {what}; no worker is registered").format(what=what)
    lacks = {offer.host: lacking(need, offer) for offer in offers}
    if any(not lacking(need, offer) for offer in offers):
        return ""
    near = [o for o in offers if devices_for(need, o) and need["kind"] in o.queues]
    near = near or [o for o in offers if engines_for(need, o)]
    if not near:
        return _("needs {what}; none registered").format(what=what)
    hosts = sorted({offer.host for offer in near}, key=lambda host: (len(lacks[host]), host))
    told = "; ".join(f"{host} {', '.join(lacks[host])}" for host in hosts[:NAMED])
    return _("needs {what}; {told}").format(what=what, told=told)


def _places(queues: set[str]) -> dict[UUID, int]:
    """How many of the same queue are taken before each run at the front of its queue."""
    places: dict[UUID, int] = {}
    for queue in queues:
        front = queued_of_need().filter(queue=queue).values_list("id", flat=True)[:LOOKED_AT]
        places |= {run_id: place for place, run_id in enumerate(front)}
    return places


def _why(run: Run, ahead: int, busy: int) -> str:
    if run.reserved_by:
        return _("kept for the command that declared it")
    if ahead >= LOOKED_AT:
        return _("{n} runs or more before it").format(n=LOOKED_AT)
    if ahead:
        return ngettext(
            "{n} run before it in queue {queue}", "{n} runs before it in queue {queue}", ahead
        ).format(n=ahead, queue=run.queue)
    if busy:
        return _("next in queue {queue}: its worker is busy").format(queue=run.queue)
    return _("next in queue {queue}: no worker has taken it yet").format(queue=run.queue)
