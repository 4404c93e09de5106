"""Schedules and findings, and what people do to them."""

from collections.abc import Callable
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from assay.accounts.models import Action
from assay.archive.installed_engines import installed_versions
from assay.archive.paths import Home
from assay.execution.scheduled import submit
from assay.ledger.models import Run
from assay.pages.contexts.finding import finding_page
from assay.pages.contexts.schedules import (
    open_findings,
    schedule_page,
    schedule_rows,
)
from assay.pages.contexts.series import series_page
from assay.pages.middleware import request_access
from assay.permissions.guard import requires
from assay.regressions import baselines, bisecting, findings, firing, signing
from assay.regressions import schedules as services
from assay.regressions.models import CheckRecord, Finding, Schedule
from assay.regressions.reading import start_of
from experiments.errors import Refusal


@require_safe
def schedules(request: HttpRequest) -> HttpResponseBase:
    access = request_access(request)
    context = {
        "rows": schedule_rows(access),
        "findings": open_findings(access),
        "section": "schedules",
    }
    return render(request, "pages/schedule/list.html", context)


@require_safe
def schedule(request: HttpRequest, schedule_id: UUID) -> HttpResponseBase:
    page = schedule_page(schedule_id, request_access(request))
    return render(request, "pages/schedule/detail.html", {"page": page, "section": "schedules"})


@require_safe
def finding(request: HttpRequest, finding_id: UUID) -> HttpResponseBase:
    page = finding_page(finding_id, request_access(request))
    return render(request, "pages/schedule/finding.html", {"page": page, "section": "schedules"})


@require_safe
def series(request: HttpRequest, schedule_id: UUID, metric: str) -> HttpResponseBase:
    page = series_page(schedule_id, metric, request_access(request))
    return render(request, "pages/schedule/series.html", {"page": page, "section": "schedules"})


@require_POST
@requires(Action.manage)
def pause(request: HttpRequest, schedule_id: UUID) -> HttpResponseBase:
    """Pause, or with ``paused`` empty go on."""
    one = get_object_or_404(Schedule, pk=schedule_id)
    services.pause(one, paused=bool(request.POST.get("paused")))
    return redirect("schedule", schedule_id=schedule_id)


@require_POST
def fire(request: HttpRequest, schedule_id: UUID) -> HttpResponseBase:
    one = get_object_or_404(Schedule, pk=schedule_id)
    firing.fire_now(one, timezone.now(), submit)
    return redirect("schedule", schedule_id=schedule_id)


@require_POST
@requires(Action.manage)
def accept(request: HttpRequest, schedule_id: UUID) -> HttpResponseBase:
    """The value of one answer as the new level of its metric."""
    check = request.POST.get("check", "")
    row = get_object_or_404(
        CheckRecord.objects.select_related("watch__schedule", "run"),
        pk=int(check) if check.isascii() and check.isdigit() and len(check) < 16 else 0,
        watch__schedule_id=schedule_id,
        run__isnull=False,
    )
    run = row.run
    assert isinstance(run, Run)
    variable = row.watch.schedule.variable or None
    start = start_of(run, Home(settings.HOME), variable=variable)
    reason = request.POST.get("reason", "")
    return _done(
        request,
        lambda: baselines.accept(row.watch, [start], by=_name(request), reason=reason),
        then=("schedule", schedule_id),
    )


@require_POST
@requires(Action.manage)
def approve(request: HttpRequest, schedule_id: UUID) -> HttpResponseBase:
    """Sign the newest level of every metric as it stands."""
    one = get_object_or_404(Schedule, pk=schedule_id)
    reason = request.POST.get("reason", "")
    return _done(
        request,
        lambda: signing.approve(one, Home(settings.HOME), by=_name(request), reason=reason),
        then=("schedule", schedule_id),
    )


@require_POST
def bisect(request: HttpRequest, finding_id: UUID) -> HttpResponseBase:
    one = get_object_or_404(Finding.objects.select_related("run"), pk=finding_id)
    installed = installed_versions(Home(settings.HOME), one.run.spec["engine"])
    return _done(
        request,
        lambda: bisecting.ask(one, installed, by=_name(request)),
        then=("finding", finding_id),
    )


@require_POST
@requires(Action.manage)
def move(request: HttpRequest, finding_id: UUID) -> HttpResponseBase:
    state, comment = request.POST.get("state", ""), request.POST.get("comment", "")
    return _done(
        request,
        lambda: findings.move(finding_id, state, by=_name(request), comment=comment),
        then=("finding", finding_id),
    )


def _done(
    request: HttpRequest, step: Callable[[], object], *, then: tuple[str, UUID]
) -> HttpResponseBase:
    """Go back to the page, or say why not."""
    name, key = then
    try:
        step()
    except Refusal as refusal:
        context = {"findings": refusal.findings, "back": then, "section": "schedules"}
        return render(request, "pages/schedule/refused.html", context, status=400)
    return redirect(name, key)


def _name(request: HttpRequest) -> str:
    return request.user.get_username()
