"""Studies, artifacts and metric rules."""

from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assay.analysis.definition import DEFINITION_VERSION
from assay.analysis.metrics.catalogue import families
from assay.pages import exports
from assay.pages.contexts.artifact import artifact_page
from assay.pages.contexts.artifact import artifacts as all_artifacts
from assay.pages.contexts.search import search
from assay.pages.contexts.studies import SORTS, StudyRow, exported_studies, studies_page
from assay.pages.contexts.study import study_page
from assay.pages.middleware import request_access
from assay.pages.paging import Paged, window

STUDIES_FORM = "studies-filter"
STUDY_COLUMNS = [
    "study",
    "name",
    "title",
    "question",
    "tags",
    "overrides",
    "author",
    "runs",
    "states",
    "created_at",
]


@require_safe
def studies(request: HttpRequest) -> HttpResponseBase:
    wanted = search(request.GET, SORTS)
    access = request_access(request)
    form = request.GET.get("format")
    if form in exports.FORMATS:
        rows = map(_export, exported_studies(wanted, access))
        return exports.table("studies", form, STUDY_COLUMNS, rows)
    page = studies_page(wanted, request.GET.get("page"), access)
    htmx = getattr(request, "htmx", None)
    swapped = bool(htmx) and request.GET.get("part") == "table"
    template = "pages/study/_table.html" if swapped else "pages/study/list.html"
    response = render(request, template, {"page": page, "section": "studies"})
    if htmx and htmx.trigger == STUDIES_FORM:
        address = wanted.address()
        response["HX-Push-Url"] = f"{request.path}?{address}" if address else request.path
    return response


def _export(row: StudyRow) -> list[object]:
    study = row.study
    return [
        str(study.pk),
        study.name,
        study.title,
        study.question,
        study.tags,
        study.overrides,
        study.owner or None,
        row.runs,
        dict(row.states),
        study.created_at.isoformat(),
    ]


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
