"""What the reader is told of: mail and webhooks, by project and event."""

from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from assay.accounts.models import Action
from assay.notifications import wishes
from assay.notifications.models import Event
from assay.pages.contexts.notifications import notifications as page_of
from assay.pages.middleware import request_access
from assay.permissions.guard import requires
from experiments.errors import Refusal, refuse

UNPROCESSABLE = 422


@requires(Action.view)
@require_http_methods(["GET", "HEAD", "POST"])
def notifications(request: HttpRequest) -> HttpResponseBase:
    user = cast(User, request.user)
    projects = request_access(request).projects(Action.view)
    if request.method != "POST":
        context = {"page": page_of(user, projects), "section": "account"}
        return render(request, "pages/account/notifications.html", context)
    try:
        _change(request, user, {project.id for project in projects})
    except Refusal as refusal:
        context = {"page": page_of(user, projects, refusal.findings), "section": "account"}
        return render(request, "pages/account/notifications.html", context, status=UNPROCESSABLE)
    return redirect("notifications")


def _change(request: HttpRequest, user: User, mine: set[UUID]) -> None:
    """One change, by the button that was pressed. Raises Refusal, PermissionDenied."""
    what = request.POST.get("change", "")
    if what == "address":
        _address(user, request.POST.get("address", "").strip())
    elif what == "mail":
        for project_id in mine:
            wishes.choose_mail(user, project_id, _events(request, f"events-{project_id}"))
    elif what == "webhook":
        project_id = _project(request.POST.get("project", ""), mine)
        url = request.POST.get("url", "").strip()
        wishes.add_webhook(user, project_id, url, _events(request, "events"))
    elif (number := request.POST.get("remove", "")).isdecimal() and len(number) < 18:
        wishes.remove(user, int(number))


def _address(user: User, address: str) -> None:
    try:
        if address:
            validate_email(address)
    except ValidationError as error:
        raise refuse(
            field="address", seen=address, allowed="name@host", remedy="Correct the address."
        ) from error
    user.email = address
    user.save(update_fields=["email"])


def _project(text: str, mine: set[UUID]) -> UUID:
    found = next((project for project in mine if str(project) == text), None)
    if found is None:
        raise PermissionDenied(Action.view.value)
    return found


def _events(request: HttpRequest, name: str) -> list[str]:
    known = set(Event.values)
    return [event for event in dict.fromkeys(request.POST.getlist(name)) if event in known]
