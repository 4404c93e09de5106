"""Who may look, and what a page may load.

Embedded (no ASSAY_HOSTS): a request from this machine is the local user's, without a password; anything that
came through a proxy is not from this machine. For a team: everybody signs in.
"""

from collections.abc import Callable
from functools import partial
from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.functional import SimpleLazyObject

Respond = Callable[[HttpRequest], HttpResponseBase]

LOCAL_USER = "local"
OPEN_PATHS = ("/login/", "/healthz")
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
        if request.path.startswith((settings.STATIC_URL, *OPEN_PATHS)):
            return get_response(request)
        if settings.EMBEDDED and is_from_this_machine(request):
            # A lazy object: most pages never ask who is looking, so they pay no query for it.
            request.user = SimpleLazyObject(partial(_local_user))  # type: ignore[assignment]
            return get_response(request)
        if request.user.is_authenticated:
            return get_response(request)
        if request.headers.get("HX-Request"):
            return HttpResponse(status=401, headers={"HX-Refresh": "true"})
        return redirect_to_login(request.get_full_path())

    return respond


def is_from_this_machine(request: HttpRequest) -> bool:
    """True for a direct connection over loopback; the Host header was checked by ALLOWED_HOSTS."""
    if any(h in request.headers for h in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via")):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _local_user() -> AbstractBaseUser:
    model = get_user_model()
    user, created = model._default_manager.get_or_create(username=LOCAL_USER)
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user
