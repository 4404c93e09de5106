"""Ending runs, and running them once more: a page that says what will happen, and the POST that does it."""

from dataclasses import replace
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from assay.accounts.models import Action
from assay.execution import rehearsing, services, submitting
from assay.ledger.models import Run, Study
from assay.pages import words
from assay.pages.contexts.control import Control, control
from assay.permissions.guard import requires
from experiments.errors import Finding, Refusal
from experiments.plan import RunSpec

UNPROCESSABLE = 422
ASK_OR_DO = require_http_methods(["GET", "HEAD", "POST"])


@requires(Action.write)
@ASK_OR_DO
def cancel_run(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    run = get_object_or_404(Run.objects.select_related("study"), pk=run_id)
    if request.method == "POST":
        services.request_cancel(run.id)
        return redirect("run", run.id)
    return _ask(request, "cancel", control(run.study, [run], one=run))


@requires(Action.write)
@ASK_OR_DO
def cancel_study(request: HttpRequest, study_id: UUID) -> HttpResponseBase:
    study = get_object_or_404(Study, pk=study_id)
    if request.method == "POST":
        live = study.runs.filter(state__in=words.LIVE_STATES).order_by("-position")
        for run_id in live.values_list("id", flat=True):  # the last first: none starts meanwhile
            services.request_cancel(run_id)
        return redirect("study", study.id)
    return _ask(request, "cancel", control(study, list(study.runs.order_by("position"))))


@requires(Action.write)
@ASK_OR_DO
def repeat_run(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    run = get_object_or_404(Run.objects.select_related("study"), pk=run_id)
    asked = control(run.study, [run], one=run)
    if request.method != "POST":
        return _ask(request, "repeat", asked)
    return _again(request, asked, [run], name=f"repeat={run.id}")


@requires(Action.write)
@ASK_OR_DO
def repeat_study(request: HttpRequest, study_id: UUID) -> HttpResponseBase:
    study = get_object_or_404(Study, pk=study_id)
    asked = control(study, list(study.runs.order_by("position")))
    if request.method != "POST":
        return _ask(request, "repeat", asked)
    return _again(request, asked, asked.cells, name=f"repeat={study.id}")


def _again(request: HttpRequest, asked: Control, runs: list[Run], *, name: str) -> HttpResponseBase:
    """Queue the same declarations as a new study of the same project, each at its next repetition."""
    try:
        specs = _next(runs)
    except Refusal as refusal:
        return _refuse(request, asked, refusal.findings)
    look = rehearsing.look(specs)
    if look.refused is not None:
        return _refuse(request, asked, look.findings)
    study = submitting.queue_study(
        specs,
        overrides=[name],
        owner=request.user.get_username(),
        project_id=asked.study.project.id,
    )
    return redirect("run", study.runs.get().id) if len(specs) == 1 else redirect("study", study.id)


def _next(runs: list[Run]) -> list[RunSpec]:
    specs = [submitting.once_more(run) for run in runs]
    return [replace(spec, position=place, cell=place) for place, spec in enumerate(specs)]


def _ask(request: HttpRequest, what: str, asked: Control) -> HttpResponseBase:
    context = {"page": asked, "section": "runs", "findings": ()}
    return render(request, f"pages/control/{what}.html", context)


def _refuse(
    request: HttpRequest, asked: Control, findings: tuple[Finding, ...]
) -> HttpResponseBase:
    context = {"page": asked, "section": "runs", "findings": findings}
    return render(request, "pages/control/repeat.html", context, status=UNPROCESSABLE)
