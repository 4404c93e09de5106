"""Files of a bundle: the list, one file, and the lines or rows that evidence points at."""

from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from assay.pages.contexts.files import files_page, listed
from assay.pages.contexts.head import run_head
from assay.pages.contexts.quote import Quote, quote_lines, quote_row, quote_rows
from assay.pages.contexts.trace_quote import quote_trace
from assay.pages.views.run_context import run_context
from assay.pages.views.run_tables import asked_table
from runners.protocol import layout


@require_safe
def files(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    head = run_head(run_id, "run-files")
    if (exported := asked_table(request, "files", head)) is not None:
        return exported
    return render(request, "pages/run/files.html", run_context(head, files_page(head)))


@require_safe
def download(request: HttpRequest, run_id: UUID, path: str) -> FileResponse:
    """One file of the bundle, byte for byte. Only files that the manifest names are given out."""
    found = listed(run_head(run_id, "run-files"), path)
    if found is None:
        raise Http404(_("this bundle has no such file here"))
    return FileResponse(
        found.open("rb"),
        as_attachment=True,
        filename=path.replace("/", "_"),
        content_type="application/octet-stream",
    )


@require_safe
def quote(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """What a piece of evidence points at: a line with its neighbours, or the rows of a query."""
    head = run_head(run_id, "run-identity")
    name = request.GET.get("file", "")
    template = (
        "pages/run/_quote.html" if getattr(request, "htmx", False) else "pages/run/quote.html"
    )
    context = run_context(head, None, quote=_quoted(request, name, run_id))
    return render(request, template, context)


def _quoted(request: HttpRequest, name: str, run_id: UUID) -> Quote:
    path = listed(run_head(run_id, "run-identity"), name)
    if path is None:
        return Quote(file=name, problem=_("the file is not in this copy of the bundle"))
    line = request.GET.get("line", "")
    if line.isascii() and line.isdigit() and len(line) < 12:
        quoted_part = quote_row if path.suffix == ".parquet" else quote_lines
        return quoted_part(path, name, int(line))
    query = request.GET.get("query", "")
    if name.startswith(layout.TRACE_FOLDER + "/") and ".json" in path.suffixes:
        return quote_trace(path, name, query)
    return quote_rows(path, name, query)
