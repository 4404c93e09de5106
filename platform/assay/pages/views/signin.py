"""The one-time link that signs in whoever sits at this machine."""

from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from assay.accounts.services import redeem_sign_in_link

FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via")


@require_safe
def by_link(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Refused from anywhere but this machine, and where people have accounts."""
    if settings.EMBEDDED and is_from_this_machine(request):
        user = redeem_sign_in_link(secret)
        if user is not None:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            return redirect(settings.LOGIN_REDIRECT_URL)
    return render(request, "registration/link_refused.html", status=403)


def is_from_this_machine(request: HttpRequest) -> bool:
    """True for a direct connection over loopback; the Host header was checked by ALLOWED_HOSTS."""
    if any(h in request.headers for h in FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
