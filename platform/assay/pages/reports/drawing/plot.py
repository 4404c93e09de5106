"""A figure as a drawing that needs no script: the same JSON that the page gives to Plotly, as SVG.

Each is drawn twice, for a wide sheet and for a phone; the style sheet shows the one that fits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape

from assay.pages.charts.theme import Figure
from assay.pages.reports.drawing import ink
from assay.pages.reports.drawing.marks import mark
from assay.pages.reports.drawing.scale import Kind, Scale, scale, ticks
from assay.pages.reports.drawing.traces import Trace, drawn, extent

WIDE, NARROW = 880.0, 356.0
HEIGHT = 340.0
_TOP, _RIGHT, _TICK, _TITLE = 10.0, 16.0, 5.0, 20.0
_MOST_LEFT = 0.36  # of the width for names of rows; longer ones stand above their rows
_ROW_FONT = 11.5
_ABOVE = 16.0  # what such a name takes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The sheet and, in it, the plot: ``left`` and ``bottom`` are margins."""

    width: float
    height: float
    left: float
    bottom: float
    names_above: bool

    @property
    def plot_width(self) -> float:
        return self.width - self.left - _RIGHT

    @property
    def plot_height(self) -> float:
        return self.height - _TOP - self.bottom


def drawing(figure: Figure, label: str) -> str:
    """Legend and both drawings. ``label`` says what is seen, to whoever does not see it."""
    sheets = [
        f'<div class="drawing {name}">{_sheet(figure, label, width)}</div>'
        for name, width in (("wide", WIDE), ("slim", NARROW))
    ]
    return _legend(figure) + "".join(sheets)


def _sheet(figure: Figure, label: str, width: float) -> str:
    layout, traces = figure["layout"], figure["data"]
    xaxis, yaxis = layout.get("xaxis", {}), layout.get("yaxis", {})
    across = [v for trace in traces for v in extent(trace, "x")]
    along = [v for trace in traces for v in extent(trace, "y")]
    frame = _frame(layout, scale(yaxis, along, start=0, end=1), width)
    x = scale(xaxis, across, start=0, end=frame.plot_width)
    y = scale(yaxis, along, start=frame.plot_height, end=0)
    inside = "".join(
        (
            _grid(frame, layout, x, y),
            *(_shape(shape, x, frame) for shape in layout.get("shapes", ())),
            *(drawn(trace, x, y) for trace in traces),
        )
    )
    plot = ink.element(
        "svg", inside, x=frame.left, y=_TOP, width=frame.plot_width, height=frame.plot_height
    )
    return ink.element(
        "svg",
        plot + _axes(frame, layout, x, y),
        viewBox=f"0 0 {frame.width:g} {frame.height:g}",
        role="img",
        aria_label=label,
        font_size=12,
    )


def _frame(layout: Mapping[str, Any], y: Scale, width: float) -> _Frame:
    yaxis = layout.get("yaxis", {})
    longest = max((ink.width_of(text) for _, text in ticks(yaxis, y)), default=0.0)
    above = y.kind is Kind.category and longest > width * _MOST_LEFT
    title = _TITLE if _title(yaxis) else 0.0
    return _Frame(
        width=width,
        height=float(layout.get("height") or HEIGHT) + (_ABOVE * len(y.names) if above else 0.0),
        left=(12.0 if above else longest + 14) + title,
        bottom=24.0 + (_TITLE if _title(layout.get("xaxis", {})) else 0.0),
        names_above=above,
    )


def _title(axis: Mapping[str, Any]) -> str:
    return str(axis.get("title", {}).get("text", ""))


def _grid(frame: _Frame, layout: Mapping[str, Any], x: Scale, y: Scale) -> str:
    upright = "".join(
        f"M{at:.1f} 0V{frame.plot_height:.1f}" for at, _ in ticks(layout.get("xaxis", {}), x)
    )
    level = "".join(
        f"M0 {at:.1f}H{frame.plot_width:.1f}" for at, _ in ticks(layout.get("yaxis", {}), y)
    )
    return ink.element("path", d=upright + level, **ink.stroke({"color": "$rule", "width": 1}))


def _shape(shape: Mapping[str, Any], x: Scale, frame: _Frame) -> str:
    """An upright line at one value of x, over the whole height: the only shape that figures here have."""
    at = x.at(shape["x0"])
    if at is None:
        return ""
    path = f"M{at:.1f} 0V{frame.plot_height:.1f}"
    return ink.element("path", d=path, **ink.stroke(shape["line"]))


def _axes(frame: _Frame, layout: Mapping[str, Any], x: Scale, y: Scale) -> str:
    low = _TOP + frame.plot_height
    soft = {"fill": "var(--ink-2)"}
    rim = ink.stroke({"color": "$rule-strong", "width": 1})
    sides = f"M{frame.left:.1f} {low:.1f}H{frame.width - _RIGHT:.1f}"
    if y.kind is not Kind.category:
        sides += f"M{frame.left:.1f} {_TOP}V{low:.1f}"
    parts = [ink.element("path", d=sides, **rim)]
    for at, text in _apart(ticks(layout.get("xaxis", {}), x)):
        parts.append(ink.words(frame.left + at, low + 16, text, text_anchor="middle", **soft))
    parts += _rows(frame, layout, y, soft)
    title = _title(layout.get("xaxis", {}))
    if title:
        middle = frame.left + frame.plot_width / 2
        parts.append(ink.words(middle, low + 36, title, text_anchor="middle", **soft))
    return "".join(parts) + _upright_title(frame, layout, soft)


def _rows(frame: _Frame, layout: Mapping[str, Any], y: Scale, soft: dict[str, str]) -> list[str]:
    parts = []
    for at, text in ticks(layout.get("yaxis", {}), y):
        if frame.names_above:
            above = _TOP + at - y.step() / 2 + 11
            parts.append(ink.words(frame.left, above, text, font_size=_ROW_FONT, **soft))
        else:
            place = {"text_anchor": "end", "dominant_baseline": "central"}
            parts.append(ink.words(frame.left - 8, _TOP + at, text, **place, **soft))
    return parts


def _upright_title(frame: _Frame, layout: Mapping[str, Any], soft: dict[str, str]) -> str:
    text = _title(layout.get("yaxis", {}))
    if not text:
        return ""
    middle = _TOP + frame.plot_height / 2
    turned = {"transform": f"rotate(-90 13 {middle:.1f})", "text_anchor": "middle"}
    return ink.words(13, middle, text, **turned, **soft)


def _apart(places: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Without those that would run into the one before."""
    kept: list[tuple[float, str]] = []
    reached = float("-inf")
    for at, text in sorted(places):
        half = ink.width_of(text) / 2
        if at - half > reached + _TICK:
            kept.append((at, text))
            reached = at + half
    return kept


def _legend(figure: Figure) -> str:
    traces: list[Trace] = figure["data"]
    shown = [t for t in traces if t.get("name") and t.get("showlegend", True)]
    if not figure["layout"].get("showlegend", len(shown) > 1):
        return ""
    items = "".join(f"<li>{_sample(t)}{escape(str(t['name']))}</li>" for t in shown)
    return f'<ul class="legend">{items}</ul>'


def _sample(trace: Trace) -> str:
    """The line, mark or bar that stands for a trace."""
    parts = []
    if trace["type"] == "bar":
        box = {"x": 3, "y": 3, "width": 20, "height": 8}
        parts.append(ink.element("rect", **box, **ink.fill(trace["marker"]["color"])))
    elif "lines" in trace["mode"]:
        line = {**trace.get("line", {}), "width": min(trace.get("line", {}).get("width", 2), 8)}
        parts.append(ink.element("path", d="M1 7H25", **ink.stroke(line)))
    if "markers" in trace.get("mode", ""):
        marker = trace["marker"]
        symbol, paint = marker.get("symbol", "circle"), marker.get("color")
        first = [v[0] if isinstance(v, list) and v else v for v in (symbol, paint)]
        parts.append(mark(str(first[0]), 13, 7, 9, first[1]))
    return ink.element("svg", "".join(parts), viewBox="0 0 26 14", aria_hidden="true")
