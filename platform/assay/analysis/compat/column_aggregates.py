"""Figures of a tool as aggregates of ours: under the tool's rule id, in base units, without an interval.

The tool states a percentile of any number of samples, and so does its column: that is what it is for. Where
ours would be absent, ``interval_kind`` says so.
"""

from collections.abc import Sequence

from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.compat.figures import QUANTILES, Figure
from assay.analysis.compat.seen import recorded_of
from assay.analysis.compat.table import COLUMNS
from assay.analysis.documents import Aggregate
from assay.analysis.metrics.compat_rules import COMPAT_RULES
from assay.analysis.percentiles import samples_needed
from assay.analysis.shelf import Shelf
from assay.analysis.wire.attempt import Attempt


def of_recorded(
    attempts: Sequence[Attempt], scope: Scope, shelf: Shelf | None = None
) -> list[Aggregate]:
    """Every tool's column over kept attempts whose streams were recorded; none without such attempts."""
    seen = recorded_of(attempts, shelf)
    if seen is None:
        return []
    return [
        entry_of(column.key, figure, of=len(seen.places), scope=scope)
        for column in COLUMNS.values()
        for figure in column.figures(column.read(seen), None)
    ]


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
