"""Rates that steps and prompts reached, under the roofs of their machine."""

from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace
from assay.pages.under_roofs import MeasuredRoofline

GIGA = 1e9
STYLES = (("decode", "circle", theme.ACCENT), ("prompt", "diamond", theme.INK))


def measured_roofline(found: MeasuredRoofline) -> Figure:
    """Log-log; a point below its roof leaves room that the residuals name."""
    low = min([*(p.intensity for p in found.points), found.ridge]) / 3
    high = max([*(p.intensity for p in found.points), found.ridge]) * 3
    xs = [low, found.ridge, high]
    roof: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": "roofs of this machine",
        "x": xs,
        "y": [found.roof(x) / GIGA for x in xs],
        "line": {"color": theme.RULE_STRONG, "width": 2},
        "hoverinfo": "skip",
    }
    return theme.figure(
        [roof, *(_points(found, *style) for style in STYLES)],
        xaxis=theme.axis("useful FLOP per byte beyond the caches, counted", type="log"),
        yaxis=theme.axis("GFLOP/s, reached", type="log"),
        hovermode="closest",
    )


def _points(found: MeasuredRoofline, kind: str, symbol: str, color: str) -> Trace:
    own = [point for point in found.points if point.kind == kind]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{kind}, measured",
        "x": [point.intensity for point in own],
        "y": [point.reached / GIGA for point in own],
        "customdata": [[point.name, point.share * 100] for point in own],
        "marker": {"symbol": symbol, "size": 10, "color": color},
        "hovertemplate": "%{customdata[0]}: %{y:.3~g} GFLOP/s, %{customdata[1]:.3~g} % of its roof"
        "<extra></extra>",
    }
