"""What the lower bound of one decode step is made of: its serial operators, one after the other."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.pages.charts import theme
from assay.pages.charts.theme import Figure

SMALLEST_SHARE = 0.01


def step_waterfall(operators: Sequence[Mapping[str, Any]]) -> Figure:
    """A waterfall in ms; operators below one per cent of the bound stand together."""
    small = [row for row in operators if row["share_of_bound"] < SMALLEST_SHARE]
    shown = [row for row in operators if row["share_of_bound"] >= SMALLEST_SHARE]
    names = [str(row["name"]) for row in shown]
    values = [row["bound_s"] * 1e3 for row in shown]
    if small:
        names.append(f"{len(small)} others")
        values.append(sum(row["bound_s"] for row in small) * 1e3)
    return theme.figure(
        [
            {
                "type": "waterfall",
                "name": "bound",
                "x": [*names, "step"],
                "y": [*values, sum(values)],
                "measure": ["relative"] * len(values) + ["total"],
                "increasing": {"marker": {"color": theme.ACCENT}},
                "totals": {"marker": {"color": theme.INK}},
                "connector": {"line": {"color": theme.RULE_STRONG, "width": 1}},
                "hovertemplate": "%{x}: %{delta:.4~g} ms<extra></extra>",
            }
        ],
        yaxis=theme.axis("ms at least", rangemode="tozero"),
        xaxis=theme.axis("", ticks=""),
        showlegend=False,
    )
