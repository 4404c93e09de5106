"""Models by their configurations, and what fits where."""

from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from assay.pages import exports
from assay.pages.contexts.fits import by_length, fits_page
from assay.pages.contexts.known_models import Executed, known_model
from assay.pages.contexts.model import lengths, model_page
from assay.pages.contexts.model_list import model_list
from assay.pages.contexts.model_question import asked
from assay.pages.contexts.spilled import spilled

SHOWN_LENGTHS = 6


@require_safe
def models(request: HttpRequest) -> HttpResponseBase:
    page = model_list(request.GET.get("q", "").strip()[:200])
    return render(request, "pages/model/list.html", {"page": page, "section": "models"})


@require_safe
def model(request: HttpRequest, slug: str) -> HttpResponseBase:
    form, values = asked(request.GET)
    found = known_model(slug, _executed(values))
    page = model_page(found, values)
    if (name := request.GET.get("table")) is not None:
        return _table(slug, name, request.GET.get("format", "csv"), page.tables)
    shown = lengths(found.structure, at_least=1024)[-SHOWN_LENGTHS:] if found.structure else []
    context = {
        "page": page,
        "form": form,
        "values": values,
        "lengths": shown,
        "fits": by_length(found, values, shown) if shown else [],
        "spilled": spilled(page.answer, request.GET),
        "section": "models",
    }
    return render(request, "pages/model/detail.html", context)


@require_safe
def fits(request: HttpRequest) -> HttpResponseBase:
    form, values = asked(request.GET)
    wanted = request.GET.get("q", "").strip()[:200]
    page = fits_page(values, wanted=wanted)
    context = {"page": page, "form": form, "values": values, "wanted": wanted, "section": "fits"}
    return render(request, "pages/model/fits.html", context)


def _executed(values: dict[str, Any]) -> Executed:
    return Executed(
        weight_dtype=values["weight_dtype"] or None, kv_dtype=values["kv_dtype"] or None
    )


def _table(slug: str, name: str, form: str, tables: Any) -> HttpResponseBase:
    """The table that redraws one figure."""
    if name not in tables or form not in exports.FORMATS:
        raise Http404(f"no table {name} as {form}")
    found = tables[name]
    units = found["units"]
    columns = [
        column if unit is None else f"{column} ({unit})"
        for column, unit in zip(found["columns"], units, strict=True)
    ]
    return exports.table(f"{slug}-{name}", form, columns, found["rows"])
