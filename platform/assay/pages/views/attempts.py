"""One request of a run, and the tables of all of them as files."""

from collections.abc import Iterator
from uuid import UUID

import polars as pl
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.pages import exports
from assay.pages.contexts.attempt import attempt_page
from assay.pages.contexts.head import run_head
from assay.pages.joined import End, JoinedAttempt, attempts_table, joined
from assay.pages.views.run_context import run_context

_CHUNK = 5_000
_COLUMNS = (
    "attempt_id",
    "segment",
    "case",
    "client",
    "client_detail",
    "server",
    "server_detail",
    "task",
    "task_detail",
    "resource",
    "resource_detail",
    "ghost_total_ns",
    "ghost_absent",
    "prompt_tokens",
    "output_tokens",
)


@require_safe
def attempt(request: HttpRequest, run_id: UUID, attempt_id: str) -> HttpResponseBase:
    head = run_head(run_id, "run-ledgers")
    page = attempt_page(head, attempt_id, request.GET.get("reads"))
    return render(request, "pages/run/attempt.html", run_context(head, page))


@require_safe
def export(request: HttpRequest, run_id: UUID, form: str) -> HttpResponseBase:
    """Every attempt with its four ledgers and all its metrics, exact; a missing value beside its reason."""
    head = run_head(run_id, "run-ledgers")
    if head.reading is None or form not in exports.FORMATS:
        raise Http404(_("there is nothing to export"))
    rows = attempts_table(head.reading)
    known = rows.collect_schema().names()
    rules = [rule for rule in ATTEMPT_RULES if rule in known]
    columns = [*_COLUMNS, *(name for rule in rules for name in (rule, f"{rule}.absent"))]
    return exports.table(f"attempts-{head.short_id}", form, columns, _cells(rows, rules))


def _cells(rows: pl.LazyFrame, rules: list[str]) -> Iterator[list[object]]:
    for row in _few_at_a_time(rows, rules):
        ends = (row.client, row.server, row.task, row.resource)
        yield [
            row.attempt_id,
            row.segment or None,
            row.case or None,
            *(value for end in ends for value in _end(end)),
            row.ghost["total_ns"] if row.ghost else None,
            row.ghost["absent"] if row.ghost else None,
            row.prompt_tokens,
            row.output_tokens,
            *(v for rule in rules for v in (row.metrics.get(rule), row.absent.get(rule) or None)),
        ]


def _few_at_a_time(rows: pl.LazyFrame, rules: list[str]) -> Iterator[JoinedAttempt]:
    for offset in range(0, rows.select(pl.len()).collect().item(), _CHUNK):
        yield from joined(rows.slice(offset, _CHUNK), rules)


def _end(end: End | None) -> tuple[str | None, str | None]:
    return (end.state, end.detail or None) if end else (None, None)
