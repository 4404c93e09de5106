"""Engines and their versions."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from assay.pages.contexts.engines import diff_page, engine_page, engine_rows
from assay.pages.middleware import request_access
from experiments.errors import Refusal


@require_safe
def engines(request: HttpRequest) -> HttpResponseBase:
    context = {"rows": engine_rows(request_access(request)), "section": "engines"}
    return render(request, "pages/engine/list.html", context)


@require_safe
def engine(request: HttpRequest, key: str) -> HttpResponseBase:
    """With ``older`` and ``newer`` asked for, the page that compares them."""
    older, newer = (request.GET.get(name, "").strip() for name in ("older", "newer"))
    page = engine_page(key, request_access(request))
    if older in page.versions and newer in page.versions:
        return HttpResponseRedirect(reverse("engine-diff", args=[key, (older, newer)]))
    return render(request, "pages/engine/detail.html", {"page": page, "section": "engines"})


@require_safe
def diff(request: HttpRequest, key: str, versions: tuple[str, str]) -> HttpResponseBase:
    try:
        context = {"page": diff_page(key, *versions, request_access(request)), "section": "engines"}
    except Refusal as refusal:
        context = {"finding": refusal.findings[0], "key": key, "section": "engines"}
        return render(request, "pages/engine/refused.html", context, status=400)
    return render(request, "pages/engine/diff.html", context)
