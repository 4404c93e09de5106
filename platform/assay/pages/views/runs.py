"""The list of runs, whole or as the table that a filter or the poll swaps in."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assay.pages import exports
from assay.pages.contexts.runs import RunFilter, RunRow, chosen_runs, run_rows, runs_page
from assay.pages.middleware import request_access

EXPORT_COLUMNS = [
    "run",
    "study",
    "position",
    "repetition",
    "variables",
    "state",
    "artifact",
    "engine",
    "device",
    "ttft_p50_s",
    "ttft_p50_absent",
    "tpot_p50_s",
    "tpot_p50_absent",
    "output_tokens_per_s",
    "output_tokens_per_s_absent",
    "completed",
    "offered",
    "open_gaps",
    "level",
    "identity_complete",
    "created_at",
]
EXPORT_LIMIT = 10_000
FILTER_FORM = "runs-filter"


@require_safe
def runs(request: HttpRequest) -> HttpResponseBase:
    wanted = RunFilter.parse(request.GET)
    access = request_access(request)
    form = request.GET.get("format")
    if form in exports.FORMATS:
        rows = run_rows(list(chosen_runs(wanted, access)[:EXPORT_LIMIT]))
        return exports.table("runs", form, EXPORT_COLUMNS, map(_export, rows))
    page = runs_page(wanted, request.GET.get("page"), access)
    htmx = getattr(request, "htmx", None)
    swapped = bool(htmx) and request.GET.get("part") == "table"
    template = "pages/runs/_table.html" if swapped else "pages/runs/list.html"
    response = render(request, template, {"page": page, "section": "runs"})
    if htmx and htmx.trigger == FILTER_FORM:  # the poll swaps the table too, and is no history
        response["HX-Push-Url"] = f"{request.path}?{wanted.query()}"
    return response


def _export(row: RunRow) -> list[object]:
    numbers: list[object] = []
    for line in row.headlines:
        numbers += [line.value, line.absent or None]
    return [
        str(row.id),
        row.study_name,
        row.position,
        row.repetition,
        row.variables,
        row.state,
        row.artifact_name,
        row.engine,
        row.device,
        *numbers,
        row.completed,
        row.offered,
        row.gaps,
        row.level or None,
        row.identity_complete,
        row.created_at.isoformat(),
    ]
