"""Where queued runs stand and why they wait: in the order in which workers take them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assay.ledger.models import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """``ahead`` runs are taken before this one by whoever serves its queue."""

    ahead: int
    queue: str
    why: str


def waiting(runs: Sequence[Run]) -> dict[UUID, Waiting]:
    """Of those among ``runs`` that are queued. Two queries, none without a queued one."""
    queued = {run.id: run for run in runs if run.state == "queued"}
    if not queued:
        return {}
    busy = dict(
        Run.objects.filter(state="running").order_by().values_list("queue").annotate(Count("id"))
    )
    ahead = _places(set(queued))
    found = {}
    for run_id, run in queued.items():
        before = ahead.get(run_id, 0)
        found[run_id] = Waiting(
            ahead=before, queue=run.queue, why=_why(run, before, busy.get(run.queue, 0))
        )
    return found


def _places(wanted: set[UUID]) -> dict[UUID, int]:
    """How many of the same queue are taken before each. A worker takes by study, then by position."""
    line = (
        Run.objects.filter(state="queued", cancel_requested=False)
        .order_by("study_id", "position", "repetition")  # study ids sort by time
        .values_list("id", "queue", "reserved_by")
    )
    places: dict[UUID, int] = {}
    before: Counter[tuple[str, str]] = Counter()
    for run_id, queue, reserved_by in line.iterator(chunk_size=2000):
        if run_id in wanted:
            places[run_id] = before[queue, reserved_by]
            if len(places) == len(wanted):
                break
        before[queue, reserved_by] += 1
    return places


def _why(run: Run, ahead: int, busy: int) -> str:
    if ahead:
        return ngettext(
            "{n} run before it in queue {queue}", "{n} runs before it in queue {queue}", ahead
        ).format(n=ahead, queue=run.queue)
    if run.reserved_by:
        return _("kept for the command that declared it")
    if busy:
        return _("next in queue {queue}: its worker is busy").format(queue=run.queue)
    return _("next in queue {queue}: no worker has taken it yet").format(queue=run.queue)
