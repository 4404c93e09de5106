"""Compare two to eight runs: the page, its tables as files, and the whole of it as JSON."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from assay.accounts.access import Access
from assay.analysis.comparability.comparison import FEWEST_RUNS, compare_runs
from assay.analysis.comparability.document import comparison_document
from assay.analysis.comparability.sides import MOST_RUNS
from assay.analysis.errors import BadRecord
from assay.ledger.comparing import Gathered, gathered
from assay.ledger.models import Run
from assay.ledger.queries import find_runs
from assay.ledger.visibility import visible_runs
from assay.pages import exports
from assay.pages.contexts import compare_charts, compare_identity, compare_numbers
from assay.pages.contexts.compare import (
    Wish,
    chosen_runs,
    compare_page,
    exported_populations,
    query_of,
)
from assay.pages.middleware import request_access
from experiments.errors import Finding

_ID = "the id of a run, as its page and `assay run` print it"


class BadQuery(Exception):
    """What the query asks for cannot be compared; the finding says why."""

    def __init__(self, finding: Any) -> None:
        super().__init__(str(finding))
        self.finding = finding


@require_safe
def compare(request: HttpRequest) -> HttpResponseBase:
    """Runs that somebody may not see do not exist here either."""
    access = request_access(request)
    try:
        ids = asked_ids(request)
        if added := request.GET.get("add", "").strip():
            return HttpResponseRedirect(reverse("compare") + _with(ids, added, access))
        runs = asked_runs(ids, access)
        if request.GET.get("format") in exports.FORMATS:
            return _exported(request, runs)
        page = compare_page(runs, wish_of(request), access)
    except BadQuery as refused:
        return refused_page(request, refused.finding)
    except BadRecord as refused:
        return refused_page(request, refused.finding)
    return render(request, "pages/compare/compare.html", {"page": page, "section": "compare"})


def asked_ids(request: HttpRequest) -> list[UUID]:
    """Raises BadQuery for what is no id, and for too many."""
    asked = [text.strip() for text in request.GET.getlist("run") if text.strip()]
    found = []
    for text in asked:
        try:
            found.append(UUID(text))
        except ValueError:
            raise BadQuery(_finding("run", text[:80], _ID, "Copy the whole id.")) from None
    if len(found) > MOST_RUNS:
        raise BadQuery(
            _finding("run", f"{len(found)} runs", f"at most {MOST_RUNS}", "Leave some out.")
        )
    return found


def asked_runs(ids: list[UUID], access: Access) -> list[Run]:
    """Raises Http404 if one of them may not be seen."""
    runs = chosen_runs(ids, access)
    missing = set(ids) - {run.pk for run in runs}
    if missing:
        raise Http404(_("there is no run {run} here").format(run=min(map(str, missing))))
    return runs


def _with(ids: list[UUID], added: str, access: Access) -> str:
    """The query with one run more: by its id, its beginning, or the beginning of its bundle's digest."""
    found = list(find_runs(added).filter(pk__in=visible_runs(access).values("pk"))[:2])
    if len(found) != 1:
        seen = f"{added[:80]}: {'several runs' if found else 'no run'}"
        remedy = "Give more of it." if found else "See the list of runs."
        raise BadQuery(_finding("add", seen, f"{_ID}, its beginning or a bundle digest", remedy))
    return query_of([*map(str, ids), str(found[0].pk)])


def wish_of(request: HttpRequest) -> Wish:
    latency = request.GET.get("latency", "")
    return Wish(
        all_fields=request.GET.get("fields") == "all",
        all_metrics=request.GET.get("metrics") == "all",
        latency=latency if latency in compare_charts.LATENCIES else Wish().latency,
    )


def enough(runs: list[Run]) -> list[Run]:
    """Raises BadQuery for fewer runs than can be compared."""
    if len(runs) < FEWEST_RUNS:
        allowed = f"{FEWEST_RUNS} to {MOST_RUNS} runs"
        raise BadQuery(_finding("run", f"{len(runs)} runs", allowed, "Add one."))
    return runs


def _exported(request: HttpRequest, runs: list[Run]) -> HttpResponseBase:
    found = gathered(enough(runs))
    form, name = request.GET["format"], request.GET.get("table", "")
    if name not in TABLES:
        return JsonResponse(comparison_document(compare_runs(found.records)))
    columns, rows = TABLES[name](found, wish_of(request).latency)
    return exports.table(f"compare-{name}", form, columns, rows)


Table = tuple[list[str], list[list[Any]]]


def _fields(found: Gathered, _latency: str) -> Table:
    comparison = compare_runs(found.records)
    return compare_identity.exported(comparison, [side.letter for side in comparison.sides])


def _distribution(found: Gathered, latency: str) -> Table:
    comparison = compare_runs(found.records)
    own = (
        None
        if comparison.refusals
        else compare_charts.distribution(comparison, found.readings, latency)
    )
    return compare_charts.exported_distribution(own)


TABLES: dict[str, Callable[[Gathered, str], Table]] = {
    "identity": _fields,
    "populations": lambda found, _: exported_populations(compare_runs(found.records)),
    "metrics": lambda found, _: compare_numbers.exported(compare_runs(found.records)),
    "distribution": _distribution,
    "front": lambda found, latency: compare_charts.exported_front(
        compare_runs(found.records), latency
    ),
    "residuals": lambda found, _: compare_charts.exported_residuals(compare_runs(found.records)),
}


def refused_page(request: HttpRequest, finding: Any) -> HttpResponseBase:
    context = {"finding": finding, "section": "compare"}
    return render(request, "pages/compare/refused.html", context, status=400)


def _finding(field: str, seen: str, allowed: str, remedy: str) -> Finding:
    return Finding(field=field, seen=seen, allowed=allowed, remedy=remedy)
