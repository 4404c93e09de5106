"""The platform's own state: a page for whoever maintains something here, and what machines ask."""

import hmac

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from assay.accounts.models import Action
from assay.operations.metrics import exposition
from assay.operations.readiness import ready
from assay.pages.contexts.operations import operations_page
from assay.pages.middleware import request_access
from assay.pages.views.signin import is_from_this_machine
from assay.permissions.guard import requires


@requires(Action.manage)
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    access = request_access(request)
    if not access.anywhere(Action.manage):
        raise PermissionDenied(_("this page is for maintainers"))
    context = {"page": operations_page(access), "section": "operations"}
    name = "_state.html" if request.GET.get("part") == "state" else "operations.html"
    return render(request, f"pages/operations/{name}", context)


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Everybody learns yes or no, a balancer for instance; why not is for whoever may observe."""
    checks = ready()
    is_ready = not any(check.problem for check in checks)
    document: dict[str, object] = {"ready": is_ready}
    if may_observe(request):
        document["checks"] = {check.name: check.problem or "ok" for check in checks}
    return JsonResponse(document, status=200 if is_ready else 503)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not may_observe(request):
        headers = {"WWW-Authenticate": 'Bearer realm="metrics"'}
        return HttpResponse(status=401, headers=headers)
    return HttpResponse(exposition(), content_type="text/plain; version=0.0.4; charset=utf-8")


def may_observe(request: HttpRequest) -> bool:
    """The machine itself while nobody else is served, whoever bears the token, and who runs the installation.

    Behind a proxy everybody seems to come from loopback: with ASSAY_HOSTS set that is no sign of anything.
    """
    if settings.EMBEDDED and is_from_this_machine(request):
        return True
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    wanted = settings.METRICS_TOKEN
    if wanted and hmac.compare_digest(given.encode(), wanted.encode()):
        return True
    return request_access(request).everywhere
