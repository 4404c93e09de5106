"""Small multiples of a sweep: one panel a measure, one point a run, the moved variable below."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run in one panel. ``low`` and ``high`` bound the value within this start."""

    x: float | str
    y: float
    low: float | None
    high: float | None
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    title: str
    unit: str
    points: Sequence[Point]


def small_multiples(panels: Sequence[Panel], variable: str) -> Figure:
    """Panels in a row, all over the same variable, each from zero on its own axis."""
    traces: list[Trace] = []
    layout: dict[str, object] = {}
    annotations = []
    width = 1 / max(1, len(panels))
    numeric = all(isinstance(point.x, int | float) for panel in panels for point in panel.points)
    for index, panel in enumerate(panels):
        number = "" if index == 0 else str(index + 1)
        left = index * width
        domain = [left, left + width * 0.82]
        traces.append(_trace(panel, number))
        layout[f"xaxis{number}"] = theme.axis(
            variable,
            domain=domain,
            anchor=f"y{number}",
            type="linear" if numeric else "category",
            **({"tickvals": sorted({p.x for p in panel.points})} if numeric else {}),
        )
        layout[f"yaxis{number}"] = theme.axis(
            panel.unit, anchor=f"x{number}", rangemode="tozero", exponentformat="SI"
        )
        annotations.append(
            {
                "text": panel.title,
                "xref": "paper",
                "yref": "paper",
                "x": left,
                "y": 1.0,
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 13, "color": theme.INK},
            }
        )
    return theme.figure(traces, annotations=annotations, showlegend=False, **layout)


def _trace(panel: Panel, number: str) -> Trace:
    ordered = sorted(panel.points, key=lambda p: (str(type(p.x)), p.x))
    return {
        "type": "scatter",
        "mode": "markers",
        "name": panel.title,
        "x": [p.x for p in ordered],
        "y": [p.y for p in ordered],
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "marker": {"size": 8, "color": theme.ACCENT},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [(p.high - p.y) if p.high is not None else 0 for p in ordered],
            "arrayminus": [(p.y - p.low) if p.low is not None else 0 for p in ordered],
            "color": "$accent:0.45",
            "thickness": 5,
            "width": 0,
        },
        "customdata": [p.run for p in ordered],
        "hovertemplate": "%{customdata}<br>%{y:.3~g} " + panel.unit + "<extra></extra>",
    }
