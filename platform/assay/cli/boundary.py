"""The boundary of a run on a terminal: what was measured, what lies outside, and who answers for what."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from assay.analysis.boundary import HOP_SETTINGS, boundary_table


def boundary_tables(declared: Mapping[str, Any]) -> Iterator[Table]:
    """Six fields; then segments and hops, where they were declared."""
    found = boundary_table(declared)
    table = _table("boundary", "field", "declared")
    for label, lines in found.fields:
        table.add_row(label, "; ".join(lines))
    yield table
    if found.segments:
        table = _table("segments", "segment", "who", "measured alone", "regression tests")
        for row in found.segments:
            table.add_row(row.name, row.who, row.attribution, row.regression_owner)
        yield table
    if found.hops:
        table = _table("hops", "hop", *(label for _, label in HOP_SETTINGS))
        for hop in found.hops:
            table.add_row(hop.name, *hop.settings)
        yield table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
