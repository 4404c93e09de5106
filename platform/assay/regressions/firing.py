"""From the clock to queued runs: each slot of each schedule becomes one firing, and a firing one study.

Whoever ticks may tick twice, late, or beside another: the unique slot and a conditional update keep a slot
from firing twice. How a study is submitted is given from above.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from django.db import transaction

from assay.ledger.models import Study
from assay.regressions.models import Firing, FiringState, Missed, Schedule, Trigger
from assay.regressions.slots import QuietHours, Slot, slots
from experiments.errors import Refusal

Submit = Callable[[Schedule, Sequence[str]], Study]  # the overrides of the firing; raises Refusal
LATE_S = 300.0  # a slot this old was missed: nothing ticked when it came


def tick(now: datetime, submit: Submit) -> list[Firing]:
    """Write down the slots that came since the last tick, submit what is due and return that."""
    for schedule in Schedule.objects.filter(trigger=Trigger.cron, paused=False):
        write_slots(schedule, now)
    return submit_due(now, submit)


def write_slots(schedule: Schedule, now: datetime) -> None:
    """The firings of the slots up to ``now``; nothing for who comes second."""
    before = schedule.looked_until
    if now <= before:
        return
    found = slots(schedule.cron, schedule.zone, after=before, until=now)
    with transaction.atomic():
        mine = Schedule.objects.filter(pk=schedule.pk, looked_until=before)
        if not mine.update(looked_until=now):
            return
        Firing.objects.bulk_create(
            [_firing(schedule, slot, now, newest=found[-1]) for slot in found],
            ignore_conflicts=True,
        )


def fire_now(schedule: Schedule, now: datetime, submit: Submit) -> Firing:
    """On demand: a firing of this very moment, submitted at once. Raises Refusal, written down as refused."""
    firing = Firing.objects.create(
        schedule=schedule, slot=now, due_at=now, state=FiringState.waiting, note="on demand"
    )
    _submit(firing, submit)
    firing.refresh_from_db()
    return firing


def submit_due(now: datetime, submit: Submit) -> list[Firing]:
    waiting = Firing.objects.filter(
        state=FiringState.waiting, due_at__lte=now, schedule__paused=False
    )
    return [f for f in waiting.select_related("schedule").order_by("due_at") if _submit(f, submit)]


def _submit(firing: Firing, submit: Submit) -> bool:
    """Whether it was this call that submitted it."""
    with transaction.atomic():
        mine = Firing.objects.filter(pk=firing.pk, state=FiringState.waiting)
        if not mine.update(state=FiringState.submitted):
            return False
        try:
            with transaction.atomic():
                study = submit(firing.schedule, firing.overrides)
        except Refusal as refusal:
            Firing.objects.filter(pk=firing.pk).update(
                state=FiringState.refused, note=_joined([firing.note, str(refusal)])
            )
            return False
        Firing.objects.filter(pk=firing.pk).update(study=study)
    return True


def _firing(schedule: Schedule, slot: Slot, now: datetime, *, newest: Slot) -> Firing:
    late = (now - slot.utc).total_seconds() > LATE_S
    runs = schedule.missed == Missed.all or (schedule.missed == Missed.newest and slot == newest)
    due = held_until(schedule, slot.utc)
    notes = [slot.note]
    if late:
        notes.append("missed: nothing ticked when it came" + (", run late" if runs else ""))
    if due != slot.utc:
        notes.append(f"held by quiet hours until {due:%Y-%m-%d %H:%M} UTC")
    return Firing(
        schedule=schedule,
        slot=slot.utc,
        due_at=due,
        state=FiringState.missed if late and not runs else FiringState.waiting,
        note=_joined(notes),
    )


def held_until(schedule: Schedule, at: datetime) -> datetime:
    """``at`` itself, or the end of the schedule's quiet hours that it lies in."""
    if schedule.quiet_from is None or schedule.quiet_to is None:
        return at
    return QuietHours(begin=schedule.quiet_from, end=schedule.quiet_to).hold(schedule.zone, at)


def _joined(notes: Iterable[str]) -> str:
    return "; ".join(note for note in notes if note)
