"""Compose a study in the browser, look at what it comes to, and queue it."""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from assay.accounts.models import Action, Project
from assay.execution import rehearsing, submitting
from assay.execution.rehearsing import Look
from assay.ledger.ids import uuid7
from assay.ledger.models import Study
from assay.pages.contexts.launch import (
    Offered,
    Preview,
    blocks,
    group_rows,
    is_used,
    offered,
    preview,
    rows,
)
from assay.pages.contexts.launch_asked import Asked
from assay.pages.contexts.launch_fields import REPEATING, SAYING, engine_fields
from assay.pages.middleware import request_access

UNPROCESSABLE = 422
ASKED = require_http_methods(
    ["GET", "HEAD", "POST"]
)  # what is filled in may be too long for an address


@ASKED
def launch(request: HttpRequest) -> HttpResponseBase:
    """The form, filled in by the address; a POST queues what was shown."""
    projects = _projects(request)
    if request.method == "POST":
        return _submit(request, projects)
    return _page(request, offered(projects), preview(Asked.parse(request.GET)), look=None)


@ASKED
def resolved(request: HttpRequest) -> HttpResponseBase:
    """What the form comes to: the part beside it for htmx, else the whole page with its pins checked."""
    offer = offered(_projects(request))
    shown = preview(Asked.parse(_data(request)))
    if not getattr(request, "htmx", False):
        look = rehearsing.look(shown.resolved.specs) if shown.resolved else None
        return _page(request, offer, shown, look=look)
    response = render(request, "pages/launch/_resolved.html", _context(offer, shown, look=None))
    if query := shown.asked.query():
        response["HX-Replace-Url"] = f"/launch?{query}"
    return response


@ASKED
def checked(request: HttpRequest) -> HttpResponseBase:
    """Whether it could start here, and the button that starts it."""
    offer = offered(_projects(request))
    shown = preview(Asked.parse(_data(request)))
    look = rehearsing.look(shown.resolved.specs) if shown.resolved else None
    return render(request, "pages/launch/_go.html", _context(offer, shown, look=look))


def _submit(request: HttpRequest, projects: list[Project]) -> HttpResponseBase:
    asked = Asked.parse(request.POST)
    project = next((p for p in projects if str(p.id) == asked.project), None)
    if project is None:
        shown, offer = preview(asked), offered(projects)
        return _page(request, offer, shown, look=None, status=UNPROCESSABLE, no_project=True)
    ticket = _ticket(request.POST.get("ticket", ""))
    if Study.objects.filter(id=ticket, project=project).exists():  # pressed twice
        return redirect("study", ticket)
    shown = preview(asked)
    offer = offered(projects)
    if shown.resolved is None:
        return _page(request, offer, shown, look=None, status=UNPROCESSABLE)
    if shown.resolved.fingerprint != request.POST.get("expected"):
        return _page(request, offer, shown, look=None, status=UNPROCESSABLE, changed=True)
    look = rehearsing.look(shown.resolved.specs)
    if look.refused is not None:
        return _page(request, offer, shown, look=look, status=UNPROCESSABLE)
    wanted, _ = asked.wanted()
    try:
        study = submitting.queue_study(
            shown.resolved.specs,
            overrides=wanted.overrides,
            owner=request.user.get_username(),
            project_id=project.id,
            study_id=ticket,
        )
    except IntegrityError:  # the other press of the same button was first
        return redirect("study", ticket)
    return redirect("study", study.id)


def _page(
    request: HttpRequest, offer: Offered, shown: Preview, *, look: Look | None, **more: Any
) -> HttpResponseBase:
    status = int(more.pop("status", 200))
    context = _context(offer, shown, look=look, **more)
    return render(request, "pages/launch/page.html", context, status=status)


def _context(offer: Offered, shown: Preview, *, look: Look | None, **more: Any) -> dict[str, Any]:
    engine = shown.resolved.engine if shown.resolved else shown.asked.engine
    engine_rows = rows(engine_fields(engine), shown)
    return {
        "offer": offer,
        "shown": shown,
        "studies": offer.groups["study"],
        "groups": group_rows(offer, shown),
        **{f"{box}_findings": shown.beside.get(box, []) for box in ("study", "sweep", "free")},
        "blocks": blocks(shown),
        "saying": rows(SAYING, shown),
        "repeating": rows(REPEATING, shown),
        "engine": engine,
        "engine_rows": engine_rows,
        "engine_open": is_used(engine_rows),
        "engine_changed": engine != shown.asked.engine,
        "look": look,
        "ticket": uuid7(),
        "section": "launch",
        **more,
    }


def _projects(request: HttpRequest) -> list[Project]:
    found = request_access(request).projects(Action.write)
    if not found:
        raise PermissionDenied(Action.write.value)
    return found


def _data(request: HttpRequest) -> QueryDict:
    return request.POST if request.method == "POST" else request.GET


def _ticket(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return uuid7()
