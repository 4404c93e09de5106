"""Reports: a run, a comparison or a review as one file that opens without a server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from assay.analysis.comparability.comparison import FEWEST_RUNS, compare_runs
from assay.analysis.comparability.document import comparison_document
from assay.analysis.comparability.sides import MOST_RUNS
from assay.analysis.errors import BadRecord
from assay.analysis.metrics.catalogue import ALL_RULES
from assay.analysis.report_data import data_block
from assay.ledger.comparing import gathered, run_name
from assay.ledger.models import Run
from assay.pages.middleware import request_access
from assay.pages.reports.sheet import Chapter, Report, written
from assay.pages.reports.sources import run_documents, sources
from assay.pages.views import report_chapters as parts
from assay.pages.views.compare import BadQuery, asked_ids, asked_runs, enough, refused_page
from assay.review.documents import described
from assay.review.queries import visible_reviews

FORMAT = 1
NAMED_RUNS = 3  # in a title


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    kind: str
    words: str
    title: str
    key: str
    runs: Sequence[Run]
    remarks: tuple[str, ...] = ()


@require_safe
def run_report(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    run = get_object_or_404(Run.objects.select_related("study__project", "artifact"), pk=run_id)
    subject = _Subject(
        kind="run", words=_("Run"), title=run_name(run), key=str(run.pk)[-12:], runs=[run]
    )
    found = parts.run_chapters(request, run)
    return _file(request, subject, found, {"runs": run_documents([run])})


@require_safe
def compare_report(request: HttpRequest) -> HttpResponseBase:
    """Refuses what the page refuses, in its words."""
    try:
        runs = enough(asked_runs(asked_ids(request), request_access(request)))
        document = _comparison(runs)
        found = parts.comparison_chapters(request, runs)
    except (BadQuery, BadRecord) as refused:
        return refused_page(request, refused.finding)
    names = [run_name(run) for run in runs]
    title = ", ".join(names[:NAMED_RUNS])
    if len(names) > NAMED_RUNS:
        title += " " + _("and {n} more").format(n=len(names) - NAMED_RUNS)
    subject = _Subject(
        kind="comparison",
        words=_("Comparison of {n} runs").format(n=len(runs)),
        title=title,
        key=f"{str(runs[0].pk)[-6:]}-{len(runs)}",
        runs=runs,
    )
    data = {"comparison": document, "runs": run_documents(runs)}
    return _file(request, subject, found, data)


@require_safe
def review_report(request: HttpRequest, review_id: UUID) -> HttpResponseBase:
    """The review, what its runs show, and, for two to eight runs, their comparison."""
    reviews = visible_reviews(request_access(request)).select_related("author")
    review = get_object_or_404(reviews, pk=review_id)
    ids = list(review.subjects.order_by("pk").values_list("run_id", flat=True))
    own = Run.objects.select_related("study__project", "artifact").in_bulk(ids)
    runs = [own[run_id] for run_id in ids]
    shown = runs[:MOST_RUNS]
    found = [parts.review_chapter(request, review.pk)]
    data: dict[str, Any] = {"review": described(review), "runs": run_documents(shown)}
    if FEWEST_RUNS <= len(runs) <= MOST_RUNS:
        data["comparison"] = _comparison(runs)
        found += parts.comparison_chapters(request, runs)
    found += parts.overview_chapters(request, shown)
    subject = _Subject(
        kind="review",
        words=_("Review"),
        title=review.title,
        key=str(review.pk)[-12:],
        runs=runs,
        remarks=_left_out(len(runs) - len(shown)),
    )
    return _file(request, subject, found, data)


def _comparison(runs: list[Run]) -> Any:
    return comparison_document(compare_runs(gathered(runs).records))


def _left_out(count: int) -> tuple[str, ...]:
    if count <= 0:
        return ()
    return (
        ngettext(
            "The page and data of {n} more run are not in this file; its digests are.",
            "The pages and data of {n} more runs are not in this file; their digests are.",
            count,
        ).format(n=count),
    )


def _file(
    request: HttpRequest, subject: _Subject, found: Sequence[Chapter], data: dict[str, Any]
) -> HttpResponse:
    own = sources(subject.runs)
    named = [{"name": s.name, "run": s.run, "bundle_digest": s.bundle_digest or None} for s in own]
    block = data_block({"format": FORMAT, "kind": subject.kind, "sources": named, **data})
    report = Report(
        kind=subject.words,
        title=subject.title,
        written_at=timezone.now(),
        written_by=request_access(request).user.get_username(),
        sources=own,
        chapters=found,
        remarks=subject.remarks,
        block=block,
    )
    rules = [rule for rule in ALL_RULES.values() if rule.id in report.shown_rules]
    response = HttpResponse(written(report, rules), content_type="text/html; charset=utf-8")
    name = f"assay-{subject.kind}-{subject.key}.html"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
