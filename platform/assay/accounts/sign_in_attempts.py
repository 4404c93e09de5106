"""Guessing is slow: after a few failures a name, or an address, has to wait.

Counted in the database, so that all processes of an installation count together. Names and addresses are
kept as keyed digests, and only as long as they count.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from assay.accounts.models import FailedSignIn

WINDOW = timedelta(minutes=15)
# Failures within the window: of one name from one address, of one name from anywhere, of one address.
LIMITS = {"name_and_address": 10, "name": 100, "address": 50}


def wait_s(request: HttpRequest, name: str) -> int:
    """How long this name has to wait at this address before another try counts; 0 if it need not."""
    since = timezone.now() - WINDOW
    for kind, key in _keys(request, name):
        found = FailedSignIn.objects.filter(key=key, at__gt=since)
        times = list(found.order_by("-at").values_list("at", flat=True)[: LIMITS[kind]])
        if len(times) == LIMITS[kind]:
            return max(1, _seconds_until(times[-1] + WINDOW))
    return 0


def failed(request: HttpRequest, name: str) -> None:
    """Note one failure, and forget those that no longer count."""
    FailedSignIn.objects.filter(at__lt=timezone.now() - WINDOW).delete()
    FailedSignIn.objects.bulk_create(FailedSignIn(key=key) for _, key in _keys(request, name))


def succeeded(request: HttpRequest, name: str) -> None:
    """Whoever knows the password need not wait for former slips at the same address."""
    keys = [key for kind, key in _keys(request, name) if kind == "name_and_address"]
    FailedSignIn.objects.filter(key__in=keys).delete()


def address_of(request: HttpRequest) -> str:
    """Where a request comes from; behind the installation's own proxy, what that proxy saw."""
    if getattr(settings, "SECURE_PROXY_SSL_HEADER", None):
        forwarded = request.headers.get("X-Forwarded-For", "")
        if last := forwarded.rpartition(",")[2].strip():
            return last
    return str(request.META.get("REMOTE_ADDR", ""))


def _keys(request: HttpRequest, name: str) -> Iterable[tuple[str, str]]:
    address, folded = address_of(request), name.casefold()[:150]
    yield "name_and_address", _digest(f"{folded}\n{address}")
    if folded:
        yield "name", _digest(folded)
    yield "address", _digest(f"\n{address}")


def _digest(text: str) -> str:
    return salted_hmac("assay.accounts.sign_in_attempts", text, algorithm="sha256").hexdigest()


def _seconds_until(when: datetime) -> int:
    return int((when - timezone.now()).total_seconds()) + 1
