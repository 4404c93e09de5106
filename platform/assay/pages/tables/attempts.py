"""Attempts as rows: each with its four ledgers and all its metrics, those that the page's filter chooses."""

from collections.abc import Iterator, Sequence

import polars as pl
from django.http import HttpRequest

from assay.analysis.documents import LEDGERS
from assay.analysis.metrics.registry import ATTEMPT_RULES
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.latency import chosen_segment, sorted_attempts
from assay.pages.contexts.ledger_filter import LedgerFilter
from assay.pages.contexts.ledgers import attempts_of, client_clock, lines_of, places
from assay.pages.joined import End, JoinedAttempt, attempts_numbered, attempts_table, joined
from assay.pages.tables.table import Rows, Table, Tables

CHUNK = 5_000
_ABOUT = (
    *("attempt_id", "segment", "case"),
    *(name for ledger in LEDGERS for name in (ledger, f"{ledger}_detail")),
    *("ghost_total_ns", "ghost_absent", "prompt_tokens", "output_tokens"),
)
COLUMNS = (*_ABOUT, *(name for rule in ATTEMPT_RULES for name in (rule, f"{rule}.absent")))
AT = (
    "attempt_id",
    "at_s",
    *(name for ledger in LEDGERS for name in (ledger, f"{ledger}_detail", f"{ledger}_absent")),
)


def every(head: RunHead, _request: HttpRequest) -> Rows:
    """All attempts, in the order in which the client made them."""
    if head.reading is not None:
        yield from cells(attempts_table(head.reading))


def filtered(head: RunHead, request: HttpRequest) -> Rows:
    """Those that the ledgers' page shows, on all its pages."""
    if head.reading is None or not head.reading.present:
        return
    wanted = LedgerFilter.parse(request.GET)
    clock = client_clock(head.reading, head.folder.clocks() if head.folder else None)
    chosen = places(attempts_of(head.reading, wanted, clock), wanted)
    for at in range(0, len(chosen), CHUNK):
        yield from cells(attempts_numbered(head.reading, chosen[at : at + CHUNK]))


def at_instant(head: RunHead, request: HttpRequest) -> Rows:
    """The states of the shown attempts at the asked instant, each with the reason where there is none."""
    wanted = LedgerFilter.parse(request.GET)
    if head.reading is None or not head.reading.present or wanted.at_s is None:
        return
    clock = client_clock(head.reading, head.folder.clocks() if head.folder else None)
    chosen = places(attempts_of(head.reading, wanted, clock), wanted)
    for at in range(0, len(chosen), CHUNK):
        for line in lines_of(head.reading, chosen[at : at + CHUNK], wanted, clock):
            stated = [
                value
                for cell in line.cells
                for value in (cell.state or None, cell.detail or None, cell.absent or None)
            ]
            yield line.attempt.attempt_id, wanted.at_s, *stated


def of_segment(head: RunHead, request: HttpRequest) -> Rows:
    """Those that the page of latencies lists, in its order."""
    if head.reading is None or not head.reading.present:
        return
    attempts = attempts_table(head.reading)
    _names, segment = chosen_segment(attempts, request.GET.get("segment", ""))
    own = attempts.filter(pl.col("segment").fill_null("") == segment)
    yield from cells(sorted_attempts(own, request.GET.get("sort", "")))


def cells(rows: pl.LazyFrame) -> Iterator[list[object]]:
    known = rows.collect_schema().names()
    rules = [rule for rule in ATTEMPT_RULES if rule in known]
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
            *(
                v
                for rule in ATTEMPT_RULES
                for v in (row.metrics.get(rule), row.absent.get(rule) or None)
            ),
        ]


def _few_at_a_time(rows: pl.LazyFrame, rules: Sequence[str]) -> Iterator[JoinedAttempt]:
    for offset in range(0, rows.select(pl.len()).collect().item(), CHUNK):
        yield from joined(rows.slice(offset, CHUNK), rules)


def _end(end: End | None) -> tuple[str | None, str | None]:
    return (end.state, end.detail or None) if end else (None, None)


EVERY = Table(columns=COLUMNS, rows=every)
LEDGERS_TABLES: Tables = {
    "attempts": Table(columns=COLUMNS, rows=filtered),
    "at": Table(columns=AT, rows=at_instant),
}
SEGMENT = Table(columns=COLUMNS, rows=of_segment)
