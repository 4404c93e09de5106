"""The tables behind the pages of a run, as files: measures, residuals, gaps, intervals."""

from collections.abc import Callable, Iterator, Sequence

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from assay.ledger.models import GapEntry, Measure, Residual
from assay.pages import exports
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.timeline import domain_timelines, exported_rows

Cells = Iterator[Sequence[object]]

MEASURE_COLUMNS = (
    "rule",
    "statistic",
    "value",
    "kind",
    "unit",
    "low",
    "high",
    "interval_kind",
    "n",
    "of",
    "population",
    "perspective",
    "limited_by",
    "absent",
)
RESIDUAL_COLUMNS = (
    "quantity",
    "conditions",
    "bound",
    "predicted",
    "low",
    "high",
    "measured",
    "unit",
    "relative",
    "klass",
    "layer",
    "validity",
    "reason",
)
GAP_COLUMNS = ("what", "affects", "needed", "state")
INTERVAL_COLUMNS = ("clock_domain", "attempt_id", "interval", "kind", "from_s", "to_s")


def measures(head: RunHead, _request: HttpRequest) -> Cells:
    rows = Measure.objects.filter(interpretation=head.interpretation).order_by("pk")
    yield from rows.values_list(*MEASURE_COLUMNS).iterator(chunk_size=2000)


def residuals(head: RunHead, _request: HttpRequest) -> Cells:
    rows = Residual.objects.filter(interpretation=head.interpretation).order_by("pk")
    yield from rows.values_list(*RESIDUAL_COLUMNS).iterator(chunk_size=2000)


def gaps(head: RunHead, _request: HttpRequest) -> Cells:
    rows = GapEntry.objects.filter(interpretation=head.interpretation).order_by("pk")
    yield from rows.values_list(*GAP_COLUMNS).iterator(chunk_size=2000)


def intervals(head: RunHead, request: HttpRequest) -> Cells:
    wanted = request.GET.get("domain", "")
    for domain in domain_timelines(head):
        if not wanted or wanted == str(domain.number):
            yield from exported_rows(domain)


TABLES: dict[str, tuple[Sequence[str], Callable[[RunHead, HttpRequest], Cells]]] = {
    "latency": (MEASURE_COLUMNS, measures),
    "residuals": (RESIDUAL_COLUMNS, residuals),
    "evidence": (GAP_COLUMNS, gaps),
    "timeline": (INTERVAL_COLUMNS, intervals),
}


def asked_table(request: HttpRequest, page: str, head: RunHead) -> HttpResponseBase | None:
    """The export that ``?format=`` asks of a page, or None when the page itself is asked for."""
    form = request.GET.get("format")
    if form not in exports.FORMATS or page not in TABLES:
        return None
    columns, rows = TABLES[page]
    return exports.table(f"{page}-{head.short_id}", form, columns, rows(head, request))
