"""Studies: what was asked, and asking something new."""

from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from assay.accounts.projects import writable_project
from assay.api.doors import access_of
from assay.api.errors import answers
from assay.api.lacking import refuse_unprepared
from assay.api.paging import Paged, Paging, part_of, place
from assay.api.runs import RunOut
from assay.api.texts import Query as QueryText
from assay.api.texts import Words
from assay.api.throttle import PerMinute
from assay.execution import composing, rehearsing, submitting
from assay.execution.composing import Wanted
from assay.execution.waiting import explain
from assay.ledger.chosen import asked_studies
from assay.ledger.models import Study
from assay.ledger.rows import run_rows, study_row, with_counts, with_names

router = Router(tags=["studies"])
MAIN = "main"


class StudyOut(Schema):
    study: UUID
    name: str
    title: str | None
    question: str | None
    project: str
    author: str | None
    tags: list[str]
    overrides: list[str]
    order_seed: int
    runs: int
    created_at: str


class StudiesOut(Paged):
    studies: list[StudyOut]


class StudyWithRuns(StudyOut):
    """``of_runs`` holds the first thousand at most; the list of runs has them all."""

    of_runs: list[RunOut]


class WantedStudy(Schema):
    """What ``assay submit`` takes: group choices and values, and ``sweep`` for its ``-m``."""

    overrides: Annotated[
        list[Annotated[str, Field(max_length=2000)]], Field(min_length=1, max_length=200)
    ]
    sweep: bool = False
    project: Words = MAIN


class PlannedOut(Schema):
    """A run as it would be: nothing of it is written."""

    position: int
    repetition: int
    variables: dict[str, Any]
    spec_digest: str
    spec: dict[str, Any]


class PlanOut(Schema):
    runs: list[PlannedOut]


class QueuedRun(Schema):
    run: UUID
    state: str
    spec_digest: str


class Queued(Schema):
    """``unchecked``: why pins and environment were not all looked at here; a worker does, before launch."""

    study: UUID
    runs: list[QueuedRun]
    unchecked: str | None


@router.get("", response=answers(StudiesOut))
def list_studies(request: HttpRequest, paging: Query[Paging], q: QueryText = "") -> dict[str, Any]:
    """Newest first; ``q`` in the language of the run list, a study counting when one of its runs does."""
    part = part_of(with_counts(asked_studies(access_of(request), q)), paging)
    return {"studies": [study_row(s) for s in part.rows], **place(paging, part.total)}


@router.get("/{uuid:study_id}", response=answers(StudyWithRuns))
def get_study(request: HttpRequest, study_id: UUID) -> dict[str, Any]:
    """One study with its runs in their recorded order."""
    study = get_object_or_404(with_counts(Study.objects.all()), id=study_id)
    runs = with_names(study.runs.all()).order_by("position", "repetition")[:1000]
    shown = list(runs)
    rows = run_rows(shown)
    explain(rows, shown)
    return {**study_row(study), "of_runs": rows}


@router.post("/plan", response=answers(PlanOut), throttle=PerMinute("plan", 60))
def plan_study(request: HttpRequest, wanted: WantedStudy) -> dict[str, Any]:
    """The runs that a declaration makes, resolved and with their digests. Nothing is written."""
    writable_project(access_of(request), wanted.project)
    specs = composing.planned(Wanted(overrides=tuple(wanted.overrides), sweep=wanted.sweep))
    fields = ("position", "repetition", "variables", "digest")
    rows = [
        {name: getattr(spec, name) for name in fields} | {"spec": spec.document} for spec in specs
    ]
    return {"runs": [{**row, "spec_digest": row["digest"]} for row in rows]}


@router.post("", response=answers(Queued, status=201, also=[503]), throttle=PerMinute("submit", 30))
def submit_study(request: HttpRequest, wanted: WantedStudy) -> Status[Any]:
    """Check the declaration as ``assay submit`` does, queue its runs, tell the workers."""
    access = access_of(request)
    project = writable_project(access, wanted.project)
    specs = composing.planned(Wanted(overrides=tuple(wanted.overrides), sweep=wanted.sweep))
    look = rehearsing.look(specs)
    refuse_unprepared(look)
    study = submitting.queue_study(
        specs,
        overrides=wanted.overrides,
        owner=str(access.user.get_username()),
        project_id=project.id,
    )
    return Status(201, {**submitting.queued(study), "unchecked": look.skipped or None})
