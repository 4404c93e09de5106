"""Schedules: what is run again and again, firing one now, and what its watched metrics answered."""

from datetime import time
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from assay.accounts.models import Action
from assay.accounts.projects import manageable_project
from assay.api.doors import access_of, may
from assay.api.errors import answers
from assay.api.paging import Paged, Paging, part_of, place
from assay.api.texts import Words
from assay.api.throttle import PerMinute
from assay.execution import scheduled
from assay.execution.composing import planned
from assay.regressions import firing as firings
from assay.regressions import schedules as services
from assay.regressions.documents import firing_document, schedule_document
from assay.regressions.models import Against, Firing, Missed, Schedule, Trigger
from assay.regressions.queries import visible_schedules

router = Router(tags=["schedules"])
MAIN = "main"


class ScheduleOut(Schema):
    """``watches`` are ``RULE:STATISTIC:less|more``; ``next`` is null for what fires on no clock."""

    schedule: str
    id: UUID
    project: str
    overrides: list[str]
    trigger: str
    cron: str | None
    zone: str
    variable: str | None
    against: str
    missed: str
    quiet: str | None
    paused: bool
    next: str | None
    next_note: str
    watches: list[str]


class SchedulesOut(Paged):
    schedules: list[ScheduleOut]


class AnswerOut(Schema):
    """``green`` only for ok and improved: an empty or skipped check is never a pass."""

    run: UUID | None
    metric: str
    answer: str
    green: bool
    value: float | None
    change: float | None
    reason: str
    finding: UUID | None


class FiringOut(Schema):
    """``settled``: every run has its last word on every metric; ``green`` only then, and only if all are."""

    firing: int
    schedule: str
    slot: str
    state: str
    study: UUID | None
    note: str
    settled: bool
    green: bool
    answers: list[AnswerOut]


class FiringsOut(Paged):
    firings: list[FiringOut]


class WantedSchedule(Schema):
    """What ``assay schedule add`` takes; without ``cron`` it fires on demand, or ``on_engine_version``."""

    name: Words
    overrides: Annotated[
        list[Annotated[str, Field(max_length=2000)]], Field(min_length=1, max_length=200)
    ]
    project: Words = MAIN
    cron: Annotated[str, Field(max_length=120)] = ""
    zone: Annotated[str, Field(max_length=60)] = "UTC"
    on_engine_version: bool = False
    variable: Annotated[str, Field(max_length=120)] = ""
    against: Against = Against.newest
    missed: Missed = Missed.newest
    quiet_from: time | None = None
    quiet_to: time | None = None
    watches: Annotated[list[Words], Field(max_length=50)] = []


@router.get("", response=answers(SchedulesOut))
def list_schedules(
    request: HttpRequest, paging: Query[Paging], name: Words | None = None
) -> dict[str, Any]:
    """By name; ``name`` keeps those of that very name, of which each project has one at most."""
    found = visible_schedules(access_of(request)).select_related("project")
    if name is not None:
        found = found.filter(name=name)
    part = part_of(found.prefetch_related("watches").order_by("name", "id"), paging)
    return {"schedules": [schedule_document(s) for s in part.rows], **place(paging, part.total)}


@router.post(
    "",
    response=answers(ScheduleOut, status=201),
    auth=may(Action.manage),
    throttle=PerMinute("plan", 60),
)
def add_schedule(request: HttpRequest, wanted: WantedSchedule) -> Status[Any]:
    """Refuses a declaration that does not hold today: it would be refused every night."""
    access = access_of(request)
    project = manageable_project(access, wanted.project)
    planned(scheduled.declared(wanted.overrides))
    trigger = Trigger.cron if wanted.cron else Trigger.demand
    made = services.make(
        services.Wanted(
            name=wanted.name,
            project_id=project.id,
            overrides=wanted.overrides,
            owner=access.user.get_username(),
            cron=wanted.cron,
            zone=wanted.zone,
            trigger=Trigger.engine_version if wanted.on_engine_version else trigger,
            variable=wanted.variable,
            against=wanted.against,
            missed=wanted.missed,
            quiet_from=wanted.quiet_from,
            quiet_to=wanted.quiet_to,
            watches=wanted.watches or services.DEFAULT_WATCHES,
        )
    )
    return Status(201, schedule_document(made))


@router.get("/{uuid:schedule_id}", response=answers(ScheduleOut))
def get_schedule(request: HttpRequest, schedule_id: UUID) -> dict[str, Any]:
    return dict(schedule_document(_schedule(schedule_id)))


@router.get("/{uuid:schedule_id}/firings", response=answers(FiringsOut))
def list_firings(request: HttpRequest, schedule_id: UUID, paging: Query[Paging]) -> dict[str, Any]:
    """Newest first, each with the answers of its runs."""
    found = _schedule(schedule_id).firings.select_related("schedule").order_by("-slot", "-pk")
    part = part_of(found, paging)
    return {"firings": [firing_document(f) for f in part.rows], **place(paging, part.total)}


@router.get("/{uuid:schedule_id}/firings/{int:firing}", response=answers(FiringOut))
def get_firing(request: HttpRequest, schedule_id: UUID, firing: int) -> dict[str, Any]:
    """The regression check of one firing: ask again until it is ``settled``."""
    found = Firing.objects.select_related("schedule").filter(schedule=schedule_id)
    return dict(firing_document(get_object_or_404(found, pk=firing)))


@router.post(
    "/{uuid:schedule_id}/fire",
    response=answers(FiringOut, status=201),
    throttle=PerMinute("submit", 30),
)
def fire(request: HttpRequest, schedule_id: UUID) -> Status[Any]:
    """Queues its study now. A declaration that no longer holds answers with the state ``refused``."""
    fired = firings.fire_now(_schedule(schedule_id), timezone.now(), scheduled.submit)
    return Status(201, firing_document(fired))


@router.post("/{uuid:schedule_id}/pause", response=answers(ScheduleOut), auth=may(Action.manage))
def pause(request: HttpRequest, schedule_id: UUID) -> dict[str, Any]:
    """Slots that pass meanwhile are not made up for."""
    services.pause(_schedule(schedule_id), paused=True)
    return dict(schedule_document(_schedule(schedule_id)))


@router.post("/{uuid:schedule_id}/resume", response=answers(ScheduleOut), auth=may(Action.manage))
def resume(request: HttpRequest, schedule_id: UUID) -> dict[str, Any]:
    """From the next slot on."""
    services.pause(_schedule(schedule_id), paused=False)
    return dict(schedule_document(_schedule(schedule_id)))


def _schedule(schedule_id: UUID) -> Schedule:
    return get_object_or_404(Schedule.objects.select_related("project"), pk=schedule_id)
