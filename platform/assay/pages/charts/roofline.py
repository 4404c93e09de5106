"""The roofline of one device with the operators of a decode step and of a prompt below it."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.perfmodel.roofs import DeviceRoofs
from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace

TERA = 1e12


def roofline(answer: Mapping[str, Any], roofs: DeviceRoofs) -> Figure:
    """Operators stand on the roof itself: formulas give no operator a rate below it."""
    groups = (
        ("decode", answer["decode"]["operators"], "circle", theme.ACCENT),
        ("prompt", answer["prefill"]["operators"], "diamond-open", theme.INK),
    )
    intensities = [
        row["intensity_flops_per_byte"]
        for _, rows, _, _ in groups
        for row in rows
        if row["intensity_flops_per_byte"]
    ]
    low = min([*intensities, 1.0]) / 2
    ridge = roofs.flops_per_s / roofs.bandwidth_bytes_per_s
    high = max([*intensities, ridge]) * 4
    return theme.figure(
        [_roof(roofs, low, ridge, high), *(_points(roofs, *group) for group in groups)],
        xaxis=theme.axis(f"FLOP per byte of {roofs.memory_level}", type="log"),
        yaxis=theme.axis("TFLOP/s at most", type="log"),
        hovermode="closest",
    )


def _roof(roofs: DeviceRoofs, low: float, ridge: float, high: float) -> Trace:
    xs = [low, ridge, high]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"roofs of {roofs.name}",
        "x": xs,
        "y": [roofs.roof(x) / TERA for x in xs],
        "line": {"color": theme.RULE_STRONG, "width": 2},
        "hovertemplate": "ridge %{x:.3~g} FLOP/byte<extra></extra>",
    }


def _points(
    roofs: DeviceRoofs, name: str, rows: Sequence[Mapping[str, Any]], symbol: str, color: str
) -> Trace:
    shown = [row for row in rows if row["intensity_flops_per_byte"]]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [row["intensity_flops_per_byte"] for row in shown],
        "y": [roofs.roof(row["intensity_flops_per_byte"]) / TERA for row in shown],
        "customdata": [
            [row["name"], row["bound_by"], row["share_of_bound"] * 100] for row in shown
        ],
        "marker": {
            "symbol": symbol,
            "color": color,
            "size": [8 + 22 * row["share_of_bound"] for row in shown],
            "line": {"width": 1, "color": color},
        },
        "hovertemplate": "%{customdata[0]}: %{x:.3~g} FLOP/byte, bound by %{customdata[1]}, "
        "%{customdata[2]:.3~g} % of the step's bound<extra></extra>",
    }
