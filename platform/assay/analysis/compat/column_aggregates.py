"""Figures of a tool as aggregates of ours: under the tool's rule id, in base units, without an interval.

The tool states a percentile of any number of samples, and so does its column: that is what it is for. Where
ours would be absent, ``interval_kind`` says so.
"""

from collections.abc import Sequence

from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.compat.figures import QUANTILES, Figure
from assay.analysis.compat.rows import Span, ToolRow
from assay.analysis.compat.seen import was_read
from assay.analysis.compat.table import COLUMNS, Column
from assay.analysis.documents import Aggregate
from assay.analysis.metrics.compat_rules import COMPAT_RULES
from assay.analysis.percentiles import samples_needed
from assay.analysis.wire.attempt import Attempt


def of_recorded(attempts: Sequence[Attempt], scope: Scope) -> list[Aggregate]:
    """Every tool's column over attempts whose streams were recorded; none without such attempts."""
    recorded = [a for a in attempts if was_read(a)]
    if not any(a.reply.body_bytes for a in recorded):
        return []
    return [
        entry
        for column in COLUMNS.values()
        for entry in of_rows(column, [column.read(a) for a in recorded], scope)
    ]


def of_rows(
    column: Column, rows: Sequence[ToolRow], scope: Scope, span: Span | None = None
) -> list[Aggregate]:
    """One tool's column over its own rows."""
    return [entry_of(column.key, f, of=len(rows), scope=scope) for f in column.figures(rows, span)]


def entry_of(tool: str, figure: Figure, *, of: int, scope: Scope) -> Aggregate:
    """One figure under the tool's rule; ``scope.population`` says which attempts and where it comes from."""
    rule = COMPAT_RULES[f"{figure.quantity}.as_{tool}"]
    found = aggregate(
        rule.id,
        figure.statistic,
        rule.unit,
        figure.value,
        n=figure.n,
        of=max(of, figure.n),
        scope=Scope(
            population=f"{rule.population}, {scope.population}",
            denominator="samples" if figure.quantity == "itl" else "requests",
            perspective=scope.perspective,
            clock_domain=scope.clock_domain,
            limited_by=scope.limited_by,
        ),
        percentile_rule=figure.percentile_rule,
    )
    q = QUANTILES.get(figure.statistic)
    if q is not None and 0 < figure.n < samples_needed(q):
        found["interval_kind"] = f"none: too few samples for {figure.statistic}"
    return found
