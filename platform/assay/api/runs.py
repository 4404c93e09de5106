"""Runs: finding them, what came out of one, ending one, doing one again."""

from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status

from assay.api.doors import access_of
from assay.api.errors import Conflict, answers
from assay.api.lacking import refuse_unprepared
from assay.api.paging import Paged, Paging, part_of, place
from assay.api.texts import Query as QueryText
from assay.api.texts import Words
from assay.api.throttle import PerMinute
from assay.archive.paths import Home
from assay.execution import reaper, rehearsing, services, submitting
from assay.execution.waiting import explain
from assay.ledger.chosen import asked_runs
from assay.ledger.models import Run
from assay.ledger.queries import find_runs
from assay.ledger.rows import run_rows, with_names
from assay.ledger.run_objects import run_object
from experiments.errors import Finding

router = Router(tags=["runs"])

Sort = Literal[
    "created", "-created", "state", "-state", "artifact", "-artifact", "engine", "-engine"
]
COLUMNS = {
    "created": "created_at",
    "state": "state",
    "artifact": "artifact_name",
    "engine": "engine_key",
}


class RunOut(Schema):
    run: UUID
    study: str
    study_id: UUID
    project: str
    author: str | None
    tags: list[str]
    position: int
    repetition: int
    variables: dict[str, Any]
    state: str
    reason: str | None
    progress: dict[str, Any]
    artifact: str
    engine: str
    engine_version: str
    device: str
    spec_digest: str
    bundle_digest: str | None
    level: str | None
    created_at: str
    started_at: str | None
    ended_at: str | None


class RunsOut(Paged):
    runs: list[RunOut]


class RunObject(Schema):
    """What ``assay run --json`` prints; ``bundle`` is an address of this server instead of a folder."""

    run: UUID
    study: str
    project: str
    state: str
    reason: str | None
    progress: dict[str, Any]
    artifact: str
    engine: str
    device: str
    bundle: str | None
    bundle_digest: str | None
    spec_digest: str
    definition_version: str | None
    grade: dict[str, Any] | None
    ledgers: dict[str, dict[str, int]]
    aggregates: list[dict[str, Any]]
    residuals: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    windows: list[dict[str, Any]]
    dependencies: list[dict[str, Any]]
    boundary: dict[str, Any]
    mocked: list[str]


class Cancelled(Schema):
    run: UUID
    state: str
    cancel_requested: bool


class Again(Schema):
    """The run that was queued, in a study of its own, and the one whose declaration it repeats."""

    unchecked: str | None
    study: UUID
    run: UUID
    state: str
    spec_digest: str
    again: UUID


@router.get("", response=answers(RunsOut))
def list_runs(
    request: HttpRequest,
    paging: Query[Paging],
    q: QueryText = "",
    named: Words = "",
    sort: Sort = "-created",
) -> dict[str, Any]:
    """``q``: as on the run list (docs/queries.md). ``named``: an id or digest, or its beginning."""
    runs = asked_runs(access_of(request), q)
    if named:
        runs = runs.filter(id__in=find_runs(named).order_by().values("id"))
    column = ("-" if sort.startswith("-") else "") + COLUMNS[sort.removeprefix("-")]
    part = part_of(with_names(runs).order_by(column, "-created_at", "-id"), paging)
    rows = run_rows(part.rows)
    explain(rows, part.rows)
    return {"runs": rows, **place(paging, part.total)}


@router.get("/{uuid:run_id}", response=answers(RunObject))
def get_run(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """Counts of the four ledgers, aggregates with their passport, residuals, gaps."""
    reaper.expire()
    run = _run(run_id)
    found = run_object(run, Home(settings.HOME))
    explain([found], [run])
    if found["bundle_digest"]:
        found["bundle"] = f"/api/v1/bundles/{found['bundle_digest']}"
    return found


@router.get("/{uuid:run_id}/spec", response=answers(dict[str, Any]))
def get_spec(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """The frozen declaration, of which ``spec_digest`` is the digest."""
    return dict(_run(run_id).spec)


@router.post("/{uuid:run_id}/cancel", response=answers(Cancelled, status=202, also=[409]))
def cancel_run(request: HttpRequest, run_id: UUID) -> Status[Any]:
    """Ends a queued run at once, a running one within a heartbeat; what it captured is sealed as aborted."""
    if not services.request_cancel(run_id):
        raise Conflict(
            Finding(
                field="run",
                seen=f"{run_id} is {_run(run_id).state}",
                allowed="queued or running",
                remedy="Nothing to cancel.",
            )
        )
    run = _run(run_id)
    return Status(
        202, {"run": run.id, "state": run.state, "cancel_requested": run.cancel_requested}
    )


@router.post(
    "/{uuid:run_id}/rerun",
    response=answers(Again, status=201, also=[503]),
    throttle=PerMinute("submit", 30),
)
def rerun(request: HttpRequest, run_id: UUID) -> Status[Any]:
    """The same declaration once more, queued in the same project as the next repetition."""
    first = _run(run_id)
    spec = submitting.once_more(first)
    look = rehearsing.look([spec])
    refuse_unprepared(look)
    study = submitting.queue_study(
        [spec],
        overrides=[f"repeat={first.id}"],
        owner=str(access_of(request).user.get_username()),
        project_id=first.study.project.id,
    )
    queued = submitting.queued(study)
    return Status(
        201,
        {
            "study": study.id,
            "again": first.id,
            "unchecked": look.skipped or None,
            **queued["runs"][0],
        },
    )


def _run(run_id: UUID) -> Run:
    return get_object_or_404(Run.objects.select_related("study__project"), id=run_id)
