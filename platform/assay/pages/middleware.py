"""Who may look and act, and what a page may load.

Everybody signs in: by name and password, or, without ASSAY_HOSTS, by the one-time link that ``assay up``
prints on the machine itself. What an address names (a run, a study, ...) is looked up here, so that no view
can forget to ask: what somebody may not see does not exist for them, and a change needs the right to make it.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.functional import SimpleLazyObject

from assay.accounts.access import Access
from assay.permissions.guard import guard, wanted_action

Respond = Callable[[HttpRequest], HttpResponseBase]

OPEN_PATHS = ("/login/", "/language/", "/healthz", "/readyz", "/metrics")
API = "/api/"  # signs in by token and answers in its own words
# Plotly draws with inline styles; scripts come from our own files only, and nothing is evaluated.
POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)


def content_security_policy(get_response: Respond) -> Respond:
    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return respond


def require_login(get_response: Respond) -> Respond:
    def respond(request: HttpRequest) -> HttpResponseBase:
        request.access = SimpleLazyObject(lambda: Access(user=request.user))  # type: ignore[attr-defined]
        if request.path.startswith((settings.STATIC_URL, API, *OPEN_PATHS)):
            return get_response(request)
        if request.user.is_authenticated:
            return get_response(request)
        if request.headers.get("HX-Request"):
            return HttpResponse(status=401, headers={"HX-Refresh": "true"})
        return redirect_to_login(request.get_full_path())

    return respond


class GuardObjects:
    """Looks up what an address names before its view runs; see ``assay.permissions.guard``."""

    def __init__(self, get_response: Respond) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, _args: object, named: dict[str, Any]
    ) -> None:
        if request.path.startswith(API) or not request.user.is_authenticated:
            return  # the API, which asks by itself, or an open page
        guard(request_access(request), wanted_action(request, view), named)


def request_access(request: HttpRequest) -> Access:
    found: Access = request.access  # type: ignore[attr-defined]
    return found
