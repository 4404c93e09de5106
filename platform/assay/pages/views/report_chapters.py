"""Chapters of a report: the very pages, asked for and made to stand alone."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from assay.ledger.comparing import run_name
from assay.ledger.models import Run
from assay.pages.contexts.compare import Wish, compare_page, query_of
from assay.pages.middleware import request_access
from assay.pages.reports.sheet import Chapter
from assay.pages.reports.standing_alone import leaf
from assay.pages.views import reviews
from assay.pages.views import run as run_views

Page = Callable[..., HttpResponseBase]
HEAD = frozenset({"page-head"})  # of a run, once it stands above
PARTS: tuple[tuple[str, Any, Page], ...] = (
    ("overview", "Overview", run_views.run),
    ("latency", "Latency", run_views.latency),
    ("residuals", "Residuals", run_views.residuals),
    ("identity", "Identity", run_views.identity),
    ("evidence", "Evidence and gaps", run_views.evidence),
)


def run_chapters(request: HttpRequest, run: Run) -> list[Chapter]:
    """What the tabs of a run say; the first one carries its head."""
    return [
        _chapter(
            key,
            _(title),
            _text(page, request, run_id=run.pk),
            without=frozenset() if key == "overview" else HEAD,
        )
        for key, title, page in PARTS
    ]


def overview_chapters(request: HttpRequest, runs: Sequence[Run]) -> list[Chapter]:
    return [
        _chapter(f"run-{number}", run_name(run), _text(run_views.run, request, run_id=run.pk))
        for number, run in enumerate(runs, 1)
    ]


def review_chapter(request: HttpRequest, review_id: Any) -> Chapter:
    return _chapter("review", _("Review"), _text(reviews.review, request, review_id=review_id))


def comparison_chapters(request: HttpRequest, runs: Sequence[Run]) -> list[Chapter]:
    """The page with every field and metric, then distributions and front of the other latencies."""
    wish = Wish(all_fields=True, all_metrics=True)
    bare = _asked(request, query_of([str(run.pk) for run in runs]).removeprefix("?"))
    access = request_access(request)
    page = compare_page(runs, wish, access)
    context = {"page": page, "section": "compare"}
    text = render_to_string("pages/compare/compare.html", context, bare)
    chapters = [_chapter("comparison", _("Comparison"), text)]
    if page.compared is None or page.compared.comparison.refusals:
        return chapters
    for key, label in page.latencies:
        if key != page.latency:
            other = compare_page(runs, Wish(latency=key), access)
            shown = render_to_string("pages/compare/_by_latency.html", {"page": other}, bare)
            chapters.append(_chapter(f"by-{key}", label, shown))
    return chapters


def _chapter(key: str, title: str, text: str, without: frozenset[str] = frozenset()) -> Chapter:
    part = leaf(text, prefix=f"{key}-", rules_page=reverse("rules"), without=without)
    return Chapter(key=key, title=title, leaf=part)


def _text(page: Page, request: HttpRequest, **named: Any) -> str:
    answer = page(_asked(request, ""), **named)
    assert isinstance(answer, HttpResponse), "a page that is a file cannot be a chapter"
    return answer.content.decode()


def _asked(request: HttpRequest, query: str) -> HttpRequest:
    """The same reader asking for a whole page: no filter, no table alone, no export."""
    asked = copy(request)
    asked.GET = QueryDict(query)
    asked.htmx = False  # type: ignore[attr-defined]
    return asked
