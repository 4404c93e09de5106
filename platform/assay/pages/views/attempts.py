"""One request of a run, and the tables of all of them as files."""

from uuid import UUID

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from assay.pages import exports
from assay.pages.contexts.attempt import attempt_page
from assay.pages.contexts.head import run_head
from assay.pages.tables.attempts import EVERY
from assay.pages.views.run_context import run_context
from assay.pages.views.run_tables import asked_table


@require_safe
def attempt(request: HttpRequest, run_id: UUID, attempt_id: str) -> HttpResponseBase:
    head = run_head(run_id, "run-ledgers")
    if (exported := asked_table(request, "attempt", head)) is not None:
        return exported
    page = attempt_page(head, attempt_id, request.GET.get("reads"))
    return render(request, "pages/run/attempt.html", run_context(head, page))


@require_safe
def export(request: HttpRequest, run_id: UUID, form: str) -> HttpResponseBase:
    """Every attempt with its four ledgers and all its metrics, exact; a missing value beside its reason."""
    head = run_head(run_id, "run-ledgers")
    if head.reading is None or form not in exports.FORMATS:
        raise Http404(_("there is nothing to export"))
    rows = EVERY.rows(head, request)
    return exports.table(f"attempts-{head.short_id}", form, EVERY.columns, rows)
