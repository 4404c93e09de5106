"""Figures of a tool's own summary."""

from assay.analysis.compat.figures import QUANTILES, Figure


def figure(
    quantity: str, statistic: str, value: float | None, *, n: int, rule: str | None = None
) -> Figure | None:
    """A figure as the tool reported it, or None where its summary has none."""
    if value is None:
        return None
    return Figure(
        quantity=quantity,
        statistic=statistic,
        value=value,
        n=n,
        percentile_rule=rule if statistic in QUANTILES else None,
    )


def in_ms(value: object) -> float | None:
    """A summary's ms as s."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) / 1e3
