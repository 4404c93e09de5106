"""Latency: empirical distribution over *offered* requests, and the percentile ladder with intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.percentiles import Floats
from assay.pages import formatting
from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace

POINTS = 400  # a curve of more values is thinned to so many of them, ends kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Values in seconds of one metric; ``offered`` is the size of the population they came from."""

    label: str
    rule: str
    values_s: Sequence[float] | Floats
    offered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One statistic of one metric with its interval, in seconds."""

    metric: str
    statistic: str
    value_s: float
    low_s: float | None
    high_s: float | None
    population: str


def ecdf(curves: Sequence[Curve], population: str) -> Figure:
    """Share of offered requests within a time. A curve ends below 1 where requests never got so far."""
    traces: list[Trace] = []
    drawn = [steps(curve.values_s, curve.offered) for curve in curves]
    longest = max((xs[-1] for xs, _ys in drawn if xs), default=1.0)
    for curve, style, (xs, ys) in zip(curves, theme.SERIES, drawn, strict=False):
        if xs:  # from nothing, and on to the axis's end: where a curve stays is what it says
            xs, ys = [xs[0], *xs, 1.5 * longest], [0.0, *ys, ys[-1]]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{curve.label} ({len(curve.values_s)} of {curve.offered})",
                "x": xs,
                "y": ys,
                "line": {**style, "shape": "hv", "width": 2},
                "hovertemplate": f"{curve.label} ≤ %{{x:.3s}}s<br>%{{y:.1%}} of offered<extra></extra>",
            }
        )
    return theme.figure(
        traces,
        xaxis=time_axis([v for xs, _ys in drawn for v in xs]),
        yaxis=theme.axis(
            f"share of offered ({population})", range=[0, 1.03], tickformat=".0%", dtick=0.25
        ),
        hovermode="closest",
    )


def time_axis(values_s: Sequence[float]) -> dict[str, object]:
    """A logarithmic time axis with ticks at 1, 2 and 5 of each decade, named as people name times."""
    positive = [v for v in values_s if v > 0] or [0.001, 1.0]
    low, high = min(positive) / 1.3, max(positive) * 1.3
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**d for d in decades for m in (1, 2, 5) if low <= m * 10.0**d <= high]
    return theme.axis(
        "time (log scale)",
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickvals=ticks,
        ticktext=[_tick(v) for v in ticks],
    )


def _tick(seconds: float) -> str:
    shown = formatting.quantity(seconds, "s")
    number = shown.text.rstrip("0").rstrip(".") if "." in shown.text else shown.text
    return f"{number} {shown.unit}"


def steps(values: Sequence[float] | Floats, offered: int) -> tuple[list[float], list[float]]:
    """Sorted values with the share of ``offered`` reached at each, thinned to ``POINTS``."""
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    if n == 0 or offered == 0:
        return [], []
    keep = np.unique(np.round(np.linspace(0, n - 1, min(n, POINTS))).astype(int))
    return ordered[keep].tolist(), ((keep + 1) / offered).tolist()


def ladder(rungs: Sequence[Rung]) -> Figure:
    """Percentiles of each metric on one time axis; the bars are the intervals within this start."""
    metrics = list(dict.fromkeys(rung.metric for rung in rungs))
    traces = []
    for metric in metrics:
        own = [rung for rung in rungs if rung.metric == metric]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "name": metric,
                "showlegend": False,
                "x": [rung.value_s for rung in own],
                "y": [metric for _ in own],
                "text": [rung.statistic for rung in own],
                "textposition": [
                    "top center" if i % 2 == 0 else "bottom center" for i in range(len(own))
                ],
                "textfont": {"size": 11, "color": theme.SOFT},
                "line": {"color": theme.RULE_STRONG, "width": 1},
                "marker": {"color": theme.ACCENT, "size": 8, "symbol": "line-ns-open"},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [(r.high_s - r.value_s) if r.high_s is not None else 0 for r in own],
                    "arrayminus": [
                        (r.value_s - r.low_s) if r.low_s is not None else 0 for r in own
                    ],
                    "color": theme.ACCENT,
                    "thickness": 4,
                    "width": 0,
                },
                "customdata": [[r.statistic, r.population] for r in own],
                "hovertemplate": f"{metric} %{{customdata[0]}} = %{{x:.3s}}s<br>%{{customdata[1]}}"
                "<extra></extra>",
            }
        )
    return theme.figure(
        traces,
        xaxis=time_axis([v for r in rungs for v in (r.value_s, r.low_s, r.high_s) if v]),
        yaxis=theme.axis("", autorange="reversed", ticks="", showline=False),
        hovermode="closest",
    )
