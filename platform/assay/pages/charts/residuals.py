"""Residual dumbbells: bound, predicted range and measurement of each quantity, as ratios to the prediction.

Quantities have different units; dividing by the prediction puts them on one axis. The values themselves are
in the labels and in the table.
"""

from collections.abc import Sequence

from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace
from assay.pages.residual_line import ResidualLine

ROW_PIXELS = 34
FRAME_PIXELS = 130


def dumbbells(lines: Sequence[ResidualLine]) -> Figure:
    """One row a quantity that was predicted as a range; a figure that must be exact needs no picture."""
    shown = [line for line in lines if line.predicted and line.low is not None]
    names = [line.name for line in shown]
    traces: list[Trace] = [
        _ranges(shown, names),
        _bounds(shown, names),
        _predicted(shown, names),
        *_measured(shown, names),
    ]
    return theme.figure(
        traces,
        height=FRAME_PIXELS + ROW_PIXELS * max(1, len(shown)),
        xaxis=theme.axis(
            "ratio to the prediction (log scale; 1 = as predicted)",
            type="log",
            tickvals=[0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20],
        ),
        yaxis=theme.axis(
            "",
            range=[len(shown) - 0.4, -0.6],
            ticks="",
            showline=False,
            type="category",
            categoryorder="array",
            categoryarray=names,
        ),
        shapes=[
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": 1,
                "x1": 1,
                "y0": 0,
                "y1": 1,
                "line": {"color": theme.RULE_STRONG, "width": 1},
                "layer": "below",
            }
        ],
        hovermode="closest",
    )


def _ranges(lines: Sequence[ResidualLine], names: Sequence[str]) -> Trace:
    xs: list[float | None] = []
    ys: list[str | None] = []
    for line, name in zip(lines, names, strict=True):
        if line.low is not None and line.high is not None and line.predicted:
            xs += [line.low / line.predicted, line.high / line.predicted, None]
            ys += [name, name, None]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "predicted range",
        "x": xs,
        "y": ys,
        "line": {"color": "$accent:0.35", "width": 10},
        "hoverinfo": "skip",
    }


def _bounds(lines: Sequence[ResidualLine], names: Sequence[str]) -> Trace:
    own = [(line, name) for line, name in zip(lines, names, strict=True) if line.bound]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "bound",
        "x": [(line.bound or 0) / (line.predicted or 1) for line, _ in own],
        "y": [name for _, name in own],
        "customdata": [str(line.shown_bound) for line, _ in own],
        "marker": {"symbol": "line-ns-open", "size": 16, "color": theme.INK, "line": {"width": 2}},
        "hovertemplate": "bound %{customdata}<extra></extra>",
    }


def _predicted(lines: Sequence[ResidualLine], names: Sequence[str]) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "predicted",
        "x": [1.0 for _ in lines],
        "y": list(names),
        "customdata": [f"{line.shown_predicted} {line.range}" for line in lines],
        "marker": {"symbol": "circle-open", "size": 9, "color": theme.ACCENT, "line": {"width": 2}},
        "hovertemplate": "predicted %{customdata}<extra></extra>",
    }


def _measured(lines: Sequence[ResidualLine], names: Sequence[str]) -> list[Trace]:
    pairs = [(line, name) for line, name in zip(lines, names, strict=True) if line.measured]
    groups = (
        ("measured, inside the range", theme.INK, "diamond", True),
        ("measured, outside the range", theme.WEAK, "diamond-tall", False),
        ("measured, no range stated", theme.SOFT, "diamond-open", None),
    )
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": label,
            "x": [(line.measured or 0) / (line.predicted or 1) for line, _ in own],
            "y": [name for _, name in own],
            "customdata": [
                " · ".join(filter(None, (str(line.shown_measured), line.klass))) for line, _ in own
            ],
            "marker": {"symbol": symbol, "size": 11, "color": color},
            "hovertemplate": "measured %{customdata}<extra></extra>",
        }
        for label, color, symbol, inside in groups
        if (own := [(line, name) for line, name in pairs if line.inside is inside])
    ]
