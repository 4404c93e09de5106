"""Studies, artifacts and metric rules."""

from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.metrics.catalogue import families
from assay.pages.contexts.artifact import artifact_page
from assay.pages.contexts.artifact import artifacts as all_artifacts
from assay.pages.contexts.study import studies as all_studies
from assay.pages.contexts.study import study_page
from assay.pages.middleware import request_access
from assay.pages.paging import Paged, window


@require_safe
def studies(request: HttpRequest) -> HttpResponseBase:
    found = all_studies(request_access(request))
    where = window(found.count(), request.GET.get("page"))
    paged = Paged(rows=list(found[where.offset : where.offset + where.size]), window=where)
    return render(request, "pages/study/list.html", {"paged": paged, "section": "studies"})


@require_safe
def study(request: HttpRequest, study_id: UUID) -> HttpResponseBase:
    context = {"page": study_page(study_id), "section": "studies"}
    return render(request, "pages/study/detail.html", context)


@require_safe
def artifacts(request: HttpRequest) -> HttpResponseBase:
    found = all_artifacts(request_access(request))
    where = window(found.count(), request.GET.get("page"))
    paged = Paged(rows=list(found[where.offset : where.offset + where.size]), window=where)
    return render(request, "pages/artifact/list.html", {"paged": paged, "section": "artifacts"})


@require_safe
def artifact(request: HttpRequest, digest: str) -> HttpResponseBase:
    context = {"page": artifact_page(digest, request_access(request)), "section": "artifacts"}
    return render(request, "pages/artifact/detail.html", context)


@require_safe
def rules(request: HttpRequest) -> HttpResponseBase:
    context = {"version": DEFINITION_VERSION, "families": families(), "section": "rules"}
    return render(request, "pages/rules.html", context)
