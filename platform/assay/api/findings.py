"""Findings: confirmed changes of watched metrics, and what people made of them."""

from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema

from assay.accounts.models import Action
from assay.api.doors import access_of, may
from assay.api.errors import answers
from assay.api.paging import Paged, Paging, part_of, place
from assay.api.texts import Prose
from assay.regressions import findings as services
from assay.regressions.documents import finding_document
from assay.regressions.models import Finding
from assay.regressions.queries import visible_findings

router = Router(tags=["findings"])

State = Literal["open", "acknowledged", "expected", "fixed"]


class ScheduleFindingOut(Schema):
    """``metrics`` moved together; ``identity`` and ``residuals`` say what else differs from before."""

    finding: UUID
    schedule: str
    schedule_id: UUID
    run: UUID
    state: State
    owner: str | None
    opened_at: str
    metrics: list[dict[str, Any]]
    identity: list[dict[str, Any]]
    records: list[str]
    residuals: list[dict[str, Any]]
    steps: list[dict[str, Any]]


class FindingsOut(Paged):
    findings: list[ScheduleFindingOut]


class Moved(Schema):
    """A last word, ``expected`` or ``fixed``, needs a comment."""

    state: State
    comment: Prose = ""


@router.get("", response=answers(FindingsOut))
def list_findings(
    request: HttpRequest,
    paging: Query[Paging],
    state: State | None = None,
    schedule: UUID | None = None,
) -> dict[str, Any]:
    """Newest first; ``state`` and ``schedule`` narrow the list."""
    found = visible_findings(access_of(request))
    if state is not None:
        found = found.filter(state=state)
    if schedule is not None:
        found = found.filter(schedule=schedule)
    rows = found.select_related("schedule").prefetch_related("steps").order_by("-opened_at", "-id")
    part = part_of(rows, paging)
    return {"findings": [finding_document(f) for f in part.rows], **place(paging, part.total)}


@router.get("/{uuid:finding_id}", response=answers(ScheduleFindingOut))
def get_finding(request: HttpRequest, finding_id: UUID) -> dict[str, Any]:
    return _described(finding_id)


@router.post(
    "/{uuid:finding_id}/state", response=answers(ScheduleFindingOut), auth=may(Action.manage)
)
def move_finding(request: HttpRequest, finding_id: UUID, moved: Moved) -> dict[str, Any]:
    """Acknowledge it, say why it was expected, what fixed it, or open it again."""
    by = access_of(request).user.get_username()
    get_object_or_404(Finding, pk=finding_id)
    services.move(finding_id, moved.state, by=by, comment=moved.comment)
    return _described(finding_id)


def _described(finding_id: UUID) -> dict[str, Any]:
    found = Finding.objects.select_related("schedule").prefetch_related("steps")
    return dict(finding_document(get_object_or_404(found, pk=finding_id)))
