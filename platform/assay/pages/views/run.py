"""The pages of one run. Each: the run or 404, one context, one template."""

import json
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assay.pages.charts.measured_roofline import measured_roofline
from assay.pages.charts.residual_waterfall import explained, residual_waterfall
from assay.pages.charts.residuals import dumbbells
from assay.pages.contexts.diagnosis import diagnosis_page
from assay.pages.contexts.evidence import evidence_page
from assay.pages.contexts.head import RunHead, run_head
from assay.pages.contexts.identity import identity_page
from assay.pages.contexts.latency import latency_page
from assay.pages.contexts.ledger_filter import LedgerFilter
from assay.pages.contexts.ledgers import ledgers_page
from assay.pages.contexts.overview import overview
from assay.pages.contexts.progress import progress_of
from assay.pages.contexts.reach import reach_part
from assay.pages.contexts.record import record_part, reproduced, transfer
from assay.pages.contexts.residuals import residuals_page
from assay.pages.contexts.session_log import log_page
from assay.pages.middleware import request_access
from assay.pages.views.run_context import run_context
from assay.pages.views.run_tables import asked_table

LEDGER_FORM = "ledgers-filter"


@require_safe
def run(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run")
    return _page(request, "overview", head, overview(head))


@require_safe
def progress(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """The line that a live page polls. Once the run has ended the whole page is asked for again."""
    head = run_head(run_id, "run")
    response = render(
        request, "pages/run/_progress.html", {"head": head, "progress": progress_of(head.run)}
    )
    if not head.live:
        response["HX-Refresh"] = "true"
    return response


@require_safe
def identity(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-identity")
    return _page(
        request,
        "identity",
        head,
        identity_page(head),
        reach=reach_part(head, request_access(request), request.GET.get("stage", "")),
    )


@require_safe
def ledgers(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-ledgers")
    wanted = LedgerFilter.parse(request.GET)
    response = _page(
        request, "ledgers", head, ledgers_page(head, wanted, page=request.GET.get("page"))
    )
    htmx = getattr(request, "htmx", None)
    if htmx and htmx.trigger == LEDGER_FORM:  # a slider's way is no history
        response["HX-Replace-Url"] = f"{request.path}?{wanted.query()}"
    return response


@require_safe
def latency(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-latency")
    page = latency_page(
        head,
        segment=request.GET.get("segment", ""),
        sort=request.GET.get("sort", ""),
        page=request.GET.get("page"),
    )
    shape = transfer(head, request.GET.get("input", ""), request.GET.get("output", ""))
    return _page(request, "latency", head, page, shape=shape)


@require_safe
def residuals(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-residuals")
    page = residuals_page(head)
    roofline = page.roofline
    return _page(
        request,
        "residuals",
        head,
        page,
        figure=dumbbells([*page.times, *page.others]),
        waterfall=residual_waterfall(page.times) if explained(page.times) else None,
        roofline=measured_roofline(roofline) if roofline else None,
    )


@require_safe
def evidence(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-evidence")
    access, other = request_access(request), request.GET.get("repeat", "")
    return _page(
        request,
        "evidence",
        head,
        evidence_page(head),
        record=record_part(head),
        reproduced=reproduced(head, access, other),
    )


@require_safe
def diagnosis(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-diagnosis")
    page = diagnosis_page(head, request_access(request), request.GET.get("reference", ""))
    return _page(request, "diagnosis", head, page)


@require_safe
def session_log(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-log")
    return _page(request, "log", head, log_page(head))


@require_safe
def declaration(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """The frozen RunSpec as it was declared."""
    head = run_head(run_id, "run-identity")
    text = json.dumps(head.spec, indent=2, sort_keys=True, ensure_ascii=False)
    return _page(request, "declaration", head, text)


def _page(
    request: HttpRequest, name: str, head: RunHead, page: object, **more: object
) -> HttpResponseBase:
    """The whole page, only its table when htmx swaps one, or that table as a file."""
    if (exported := asked_table(request, name, head)) is not None:
        return exported
    swapped = getattr(request, "htmx", False) and request.GET.get("part") == "table"
    template = f"pages/run/_{name}_table.html" if swapped else f"pages/run/{name}.html"
    return render(request, template, run_context(head, page, **more))
