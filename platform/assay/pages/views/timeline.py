"""The timeline of a run: its page, a figure over a closer range, and the table behind it."""

from uuid import UUID

from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from assay.pages.contexts.head import run_head
from assay.pages.contexts.timeline import domain_timelines
from assay.pages.contexts.timeline_page import asked_of, shown, timeline_page
from assay.pages.views.run_context import run_context
from assay.pages.views.run_tables import asked_table


@require_safe
def run_timeline(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-timeline")
    if (exported := asked_table(request, "timeline", head)) is not None:
        return exported
    asked = asked_of(request.GET)
    if request.GET.get("part") == "table":
        domains = domain_timelines(head)
        number = asked.domain or 0
        if number >= len(domains):
            raise Http404(_("this run has no clock domain of that number"))
        context = run_context(head, None, one=shown(domains[number], asked))
        return render(request, "pages/run/_timeline_table.html", context)
    return render(request, "pages/run/timeline.html", run_context(head, timeline_page(head, asked)))


@require_safe
def timeline_detail(request: HttpRequest, run_id: UUID, number: int) -> JsonResponse:
    """The figure of one clock domain between two instants, at the detail that the range allows."""
    head = run_head(run_id, "run-timeline")
    domains = domain_timelines(head)
    if not 0 <= number < len(domains):
        raise Http404(_("this run has no clock domain of that number"))
    return JsonResponse(shown(domains[number], asked_of(request.GET)).figure)
