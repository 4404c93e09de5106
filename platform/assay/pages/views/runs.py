"""The list of runs, whole or as the table that a search or the poll swaps in."""

from collections.abc import Sequence
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.ledger.models import Run
from assay.ledger.visibility import visible_runs
from assay.pages import exports
from assay.pages.addresses import local_address
from assay.pages.contexts.measures import HEADLINES, Headline
from assay.pages.contexts.run_order import SORTS
from assay.pages.contexts.run_rows import RunRow
from assay.pages.contexts.runs import exported_rows, runs_page
from assay.pages.contexts.search import search
from assay.pages.middleware import request_access
from assay.review import annotating
from experiments.errors import Refusal

WHAT = [
    "run",
    "study",
    "position",
    "repetition",
    "variables",
    "state",
    "artifact",
    "engine",
    "device",
]
WEAKENED_BY = ["completed", "offered", "open_gaps", "level", "identity_complete", "created_at"]
# The names that the first exports gave to the page's own numbers and to why one is missing.
_NAMES = (
    ("ttft_p50_s", "ttft_p50_absent"),
    ("tpot_p50_s", "tpot_p50_absent"),
    ("output_tokens_per_s", "output_tokens_per_s_absent"),
)
_NAMED = dict(zip(HEADLINES, _NAMES, strict=True))
FILTER_FORM = "runs-filter"
UNPROCESSABLE = 422


@require_POST
def tag_runs(request: HttpRequest) -> HttpResponseBase:
    """A tag added to, or taken from, every chosen run: each is asked for its project's right to write."""
    access, form = request_access(request), request.POST
    if not access.anywhere(Action.write):
        raise PermissionDenied(Action.write.value)
    back = local_address(form.get("back", "")) or reverse("runs")
    step = annotating.untag_runs if form.get("step") == "remove" else annotating.tag_runs
    try:
        step(access, _named(form.getlist("run"), access), form.get("tag", ""))
    except Refusal as refusal:
        context = {"findings": refusal.findings, "back": back, "section": "runs"}
        return render(request, "pages/review/refused.html", context, status=UNPROCESSABLE)
    return redirect(back)


def _named(texts: Sequence[str], access: Access) -> list[Run]:
    """Raises Http404 if one of them is not there for whoever asks."""
    try:
        ids = list(dict.fromkeys(UUID(text) for text in texts))
    except ValueError as error:
        raise Http404(_("there is no such run here")) from error
    found = visible_runs(access).select_related("study").in_bulk(ids)
    if len(found) < len(ids):
        raise Http404(_("there is no such run here"))
    return [found[run_id] for run_id in ids]


@require_safe
def runs(request: HttpRequest) -> HttpResponseBase:
    wanted = search(request.GET, SORTS)
    access = request_access(request)
    form = request.GET.get("format")
    if form in exports.FORMATS:
        headlines = wanted.columns.headlines
        rows = map(_export, exported_rows(wanted, access))
        return exports.table("runs", form, export_columns(headlines), rows)
    page = runs_page(wanted, request.GET.get("page"), access)
    htmx = getattr(request, "htmx", None)
    swapped = bool(htmx) and request.GET.get("part") == "table"
    template = "pages/runs/_table.html" if swapped else "pages/runs/list.html"
    response = render(request, template, {"page": page, "section": "runs"})
    if htmx and htmx.trigger == FILTER_FORM:  # the poll swaps the table too, and is no history
        address = wanted.address()
        response["HX-Push-Url"] = f"{request.path}?{address}" if address else request.path
    return response


def export_columns(headlines: Sequence[Headline]) -> list[str]:
    numbers: list[str] = []
    for headline in headlines:
        name = f"{headline.rule} {headline.statistic}"
        numbers += _NAMED.get(headline, (name, f"{name} absent"))
    return [*WHAT, *numbers, *WEAKENED_BY]


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
