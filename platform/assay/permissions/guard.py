"""Whether somebody may do something to what an address names; the same rule for pages and for the API."""

from collections.abc import Callable, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.permissions.objects import LOOKUPS

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def guard(access: Access, action: Action, named: Mapping[str, Any]) -> None:
    """Raises Http404 for what may not be seen, PermissionDenied for what may not be done."""
    if action not in access.scopes:
        raise PermissionDenied(action.value)
    for name, value in named.items():
        lookup = LOOKUPS.get(name)
        if lookup is None or access.everywhere:
            continue
        projects = list(lookup(value))
        if not any(access.may(Action.view, project) for project in projects):
            raise Http404(_("there is no such thing here"))
        if not any(access.may(action, project) for project in projects):
            raise PermissionDenied(action.value)


def wanted_action(request: HttpRequest, view: Any) -> Action:
    """What ``requires`` says of the view; else reading or writing, by the request's method."""
    default = Action.view if request.method in SAFE_METHODS else Action.write
    found: Action = getattr(view, "action", default)
    return found


def requires(action: Action) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a view as needing more than its method says, a review for instance."""

    def mark(view: Callable[..., Any]) -> Callable[..., Any]:
        view.action = action  # type: ignore[attr-defined]
        return view

    return mark
