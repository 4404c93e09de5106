"""Where a decode step's bytes come from as contexts grow: weights, state, and where state is more."""

from collections.abc import Mapping
from typing import Any

from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace

GB = 1e9


def crossover(sweep: Mapping[str, Any], crossing_tokens: float | None) -> Figure:
    """Bytes per step over stored tokens from a sweep of one batch; drawn from formulas."""
    columns = {name: index for index, name in enumerate(sweep["columns"])}
    rows = sweep["rows"]

    def series(name: str, column: str, style: Mapping[str, Any]) -> Trace:
        return {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [row[columns["context_tokens"]] for row in rows],
            "y": [row[columns[column]] / GB or None for row in rows],
            "line": {**style, "width": 2},
            "marker": {"size": 5},
            "hovertemplate": "%{y:.4~g} GB",
        }

    shapes: list[dict[str, Any]] = []
    longest = max((row[columns["context_tokens"]] for row in rows), default=0)
    if crossing_tokens is not None and 0 < crossing_tokens <= longest:
        shapes.append(
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": crossing_tokens,
                "x1": crossing_tokens,
                "y0": 0,
                "y1": 1,
                "line": {"color": theme.RULE_STRONG, "width": 1, "dash": "dash"},
            }
        )
    return theme.figure(
        [
            series("weights", "weight_bytes", theme.SERIES[0]),
            series("state", "state_bytes", theme.SERIES[1]),
        ],
        xaxis=theme.axis("stored tokens of each sequence", type="log"),
        yaxis=theme.axis("GB per decode step", type="log"),
        shapes=shapes,
        hovermode="x unified",
    )
