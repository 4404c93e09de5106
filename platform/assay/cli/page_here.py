"""A page's answer without a server: the address is looked up and its view asked, as the local user.

So a file made by a command is the file that the page gives. Names of addresses only: surfaces are strangers.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase


def page_here(
    name: str, *, query: Sequence[tuple[str, str]] = (), **named: Any
) -> "HttpResponseBase":
    """Raises Http404 for what is not there and PermissionDenied for what may not be seen, as a page does."""
    from django.http import HttpRequest, QueryDict
    from django.urls import resolve, reverse

    from assay.accounts.access import Access
    from assay.accounts.models import Action
    from assay.accounts.services import local_user
    from assay.permissions.guard import guard

    user = local_user()
    request = HttpRequest()
    request.method = "GET"
    request.path = request.path_info = reverse(name, kwargs=named)
    request.GET = QueryDict(urlencode(query))
    request.user = user
    request.access = Access(user=user)  # type: ignore[attr-defined]
    guard(request.access, Action.view, named)  # type: ignore[attr-defined]
    match = resolve(request.path)
    answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return answer
