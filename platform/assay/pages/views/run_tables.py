"""The tables behind the pages of a run, as files: ``?table=NAME&format=csv`` under the page's own filters."""

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from assay.pages import exports
from assay.pages.contexts.head import RunHead
from assay.pages.tables import attempt, indexed, of_page, timeline
from assay.pages.tables.table import Tables

# Page -> its tables; the first is what ``?format=`` alone asks for.
TABLES: dict[str, Tables] = {
    "overview": indexed.OVERVIEW,
    "identity": of_page.IDENTITY,
    "timeline": timeline.TIMELINE,
    "ledgers": of_page.LEDGERS,
    "latency": of_page.LATENCY,
    "residuals": of_page.RESIDUALS,
    "evidence": of_page.EVIDENCE,
    "files": of_page.FILES,
    "log": of_page.LOG,
    "attempt": attempt.ATTEMPT,
}


def asked_table(request: HttpRequest, page: str, head: RunHead) -> HttpResponseBase | None:
    """The export that ``?format=`` asks of a page, or None when the page itself is asked for."""
    form = request.GET.get("format")
    if form not in exports.FORMATS or page not in TABLES:
        return None
    tables = TABLES[page]
    name = request.GET.get("table") or next(iter(tables))
    if name not in tables:
        raise Http404(_("this page has no table of that name"))
    table = tables[name]
    return exports.table(
        f"{page}-{name}-{head.short_id}", form, table.columns, table.rows(head, request)
    )
