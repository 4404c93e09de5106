"""Sides of a comparison on common axes: distributions, ratios to the first side, and throughput over latency.

A side is told by its letter, then by dash and symbol; colour alone tells none of eight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.percentiles import Floats
from assay.pages.charts import theme
from assay.pages.charts.distribution import steps, time_axis
from assay.pages.charts.theme import Figure, Trace
from assay.pages.formatting import Quantity

ROW_PIXELS = 44
FRAME_PIXELS = 120
_TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10, 20, 50, 100]
_STYLES: tuple[tuple[str, str, str], ...] = (
    (theme.ACCENT, "solid", "circle"),
    (theme.INK, "dash", "diamond"),
    (theme.SOFT, "solid", "square"),
    (theme.ACCENT, "dot", "triangle-up"),
    (theme.INK, "dashdot", "cross"),
    (theme.SOFT, "dash", "triangle-down"),
    (theme.ACCENT, "longdash", "x"),
    (theme.INK, "dot", "star"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCurve:
    """Values in seconds of one run; ``offered`` is how many attempts they came from."""

    place: int  # of its side
    label: str
    values_s: Sequence[float] | Floats
    offered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioDot:
    """One side in one row, as a ratio; ``low`` and ``high`` bound it, ``shown`` is the value itself."""

    place: int
    letter: str
    row: str
    ratio: float
    low: float | None
    high: float | None
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanePoint:
    place: int
    letter: str
    latency_s: float
    latency: Quantity
    throughput: float
    on_front: bool


def overlaid_ecdf(curves: Sequence[SideCurve]) -> Figure:
    """Share of offered attempts within a time, one curve a run; it ends below 1 where some got no so far."""
    traces: list[Trace] = []
    drawn = [steps(curve.values_s, curve.offered) for curve in curves]
    longest = max((xs[-1] for xs, _ys in drawn if xs), default=1.0)
    for curve, (xs, ys) in zip(curves, drawn, strict=True):
        if xs:  # from nothing, and on to the axis's end: where a curve stays is what it says
            xs, ys = [xs[0], *xs, 1.5 * longest], [0.0, *ys, ys[-1]]
        color, dash, _ = _STYLES[curve.place]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{curve.label} ({len(curve.values_s)} of {curve.offered})",
                "x": xs,
                "y": ys,
                "line": {"color": color, "dash": dash, "shape": "hv", "width": 2},
                "hovertemplate": f"{curve.label} ≤ %{{x:.3s}}s<br>%{{y:.1%}} of offered<extra></extra>",
            }
        )
    return theme.figure(
        traces,
        xaxis=time_axis([v for xs, _ys in drawn for v in xs]),
        yaxis=theme.axis("share of offered", range=[0, 1.03], tickformat=".0%", dtick=0.25),
        hovermode="closest",
        showlegend=True,
    )


def ratio_dots(dots: Sequence[RatioDot], rows: Sequence[str], title: str) -> Figure:
    """One row a quantity, one mark a side, on one logarithmic axis of ratios."""
    traces: list[Trace] = []
    for place in dict.fromkeys(dot.place for dot in dots):
        own = [dot for dot in dots if dot.place == place]
        color, _, symbol = _STYLES[place]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": own[0].letter,
                "x": [dot.ratio for dot in own],
                "y": [dot.row for dot in own],
                "marker": {"color": color, "symbol": symbol, "size": 10},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [_reach(dot.high, dot.ratio) for dot in own],
                    "arrayminus": [_reach(dot.ratio, dot.low) for dot in own],
                    "color": color,
                    "thickness": 1.5,
                    "width": 0,
                },
                "customdata": [dot.shown for dot in own],
                "hovertemplate": f"{own[0].letter} %{{customdata}}<extra></extra>",
            }
        )
    return theme.figure(
        traces,
        height=FRAME_PIXELS + ROW_PIXELS * max(1, len(rows)),
        showlegend=True,
        xaxis=theme.axis(title, type="log", tickvals=_TICKS, ticktext=[f"{t:g}" for t in _TICKS]),
        yaxis=theme.axis(
            "",
            range=[len(rows) - 0.4, -0.6],
            ticks="",
            showline=False,
            type="category",
            categoryorder="array",
            categoryarray=list(rows),
        ),
        shapes=[_line_at_one()],
        hovermode="closest",
    )


def _reach(high: float | None, low: float | None) -> float:
    return 0.0 if high is None or low is None else max(0.0, high - low)


def _line_at_one() -> dict[str, object]:
    return {
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


def throughput_over_latency(
    points: Sequence[PlanePoint], latency_title: str, throughput_title: str
) -> Figure:
    """One mark a side; the line joins those that no other side beats in both."""
    front = sorted((p for p in points if p.on_front), key=lambda p: p.latency_s)
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "front",
            "x": [p.latency_s for p in front],
            "y": [p.throughput for p in front],
            "line": {"color": theme.RULE_STRONG, "width": 1.5, "shape": "linear"},
            "hoverinfo": "skip",
        }
    ]
    for point in points:
        color, _, symbol = _STYLES[point.place]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": point.letter,
                "showlegend": False,
                "x": [point.latency_s],
                "y": [point.throughput],
                "text": [point.letter],
                "textposition": "top center",
                "textfont": {"color": theme.INK},
                "marker": {
                    "color": color,
                    "symbol": symbol if point.on_front else f"{symbol}-open",
                    "size": 11,
                },
                "hovertemplate": f"{point.letter} {point.latency}<br>%{{y:.3~g}} token/s<extra></extra>",
            }
        )
    return theme.figure(
        traces,
        xaxis={**time_axis([p.latency_s for p in points]), "title": {"text": latency_title}},
        yaxis=theme.axis(throughput_title, rangemode="tozero"),
        hovermode="closest",
        showlegend=False,
    )
