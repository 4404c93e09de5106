"""The tables behind a timeline: its intervals, and every row's values, over the shown range."""

import polars as pl
from django.http import HttpRequest

from assay.archive.derived_schemas import ITERATIONS, ITERATIONS_SCHEMA
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.timeline import domain_timelines, exported_rows, range_of
from assay.pages.contexts.timeline_page import Asked, asked_of
from assay.pages.contexts.timeline_rows import row_choices, rows_of
from assay.pages.tables.table import Rows, Table, Tables

INTERVALS = ("clock_domain", "attempt_id", "interval", "kind", "from_s", "to_s")
POINTS = ("clock_domain", "row", "source", "series", "unit", "at_s", "value", "most_of_bin")


def _asked(request: HttpRequest) -> Asked:
    return asked_of(request.GET)


def intervals(head: RunHead, request: HttpRequest) -> Rows:
    asked = _asked(request)
    for domain in domain_timelines(head):
        if asked.domain in (None, domain.number):
            own = asked.of(domain.number)
            yield from exported_rows(domain, *range_of(domain, own.from_s, own.to_s))


def points(head: RunHead, request: HttpRequest) -> Rows:
    asked = _asked(request)
    for domain in domain_timelines(head):
        if asked.domain not in (None, domain.number):
            continue
        own = asked.of(domain.number)
        start, end = range_of(domain, own.from_s, own.to_s)
        for track in rows_of(domain, row_choices(domain, asked.rows), start_s=start, end_s=end):
            for line in track.lines:
                most = line.peak or [None] * len(line.values)
                for at_s, value, peak in zip(track.at_s, line.values, most, strict=True):
                    named = (track.clock_domain, track.key, track.source, line.label, track.unit)
                    yield *named, at_s, value, peak


def iterations(head: RunHead, request: HttpRequest) -> Rows:
    """Every recorded step whose start lies in the range, exact."""
    asked = _asked(request)
    for domain in domain_timelines(head):
        if domain.steps is None or asked.domain not in (None, domain.number):
            continue
        own = asked.of(domain.number)
        span = range_of(domain, own.from_s, own.to_s)
        low, high = (domain.origin_ns + round(t * 1e9) for t in span)
        steps = pl.scan_parquet(domain.folder / ITERATIONS)
        known = steps.collect_schema().names()
        columns = [
            pl.col(name) if name in known else pl.lit(None).alias(name)
            for name in ITERATIONS_SCHEMA.names
        ]
        inside = steps.filter(pl.col("start_ns").is_between(low, high))
        yield from inside.select(columns).collect().iter_rows()


TIMELINE: Tables = {
    "intervals": Table(columns=INTERVALS, rows=intervals),
    "iterations": Table(columns=ITERATIONS_SCHEMA.names, rows=iterations),
    "rows": Table(columns=POINTS, rows=points),
}
