"""A watched metric over its starts: the values, the baseline with its spread, where a segment begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.pages.charts import theme
from assay.pages.charts.theme import Figure

SUSPECT_SCALES = 2.0  # the band: beyond it a start is looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One start. ``value`` is in ``unit`` of the chart; null where the start has none."""

    place: int
    label: str
    value: float | None
    answer: str
    begins_segment: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The baseline's level and scale between two places of the series."""

    first: int
    last: int
    level: float
    scale: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A level between two change points, or the drift's line: from ``first`` to ``last``."""

    first: int
    last: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindsight:
    """What looking back adds to a series: levels between change points, and the drift."""

    stretches: Sequence[Stretch] = ()
    drift: Stretch | None = None


# A mark says the answer as well as its colour does.
_MARKS = {
    "ok": ("circle", theme.ACCENT),
    "improved": ("triangle-up", theme.ACCENT),
    "suspected": ("diamond-open", theme.WEAK),
    "confirmed": ("x", "$bad"),
}
_OTHER = ("circle-open", theme.SOFT)


def series(
    points: Sequence[Point],
    bands: Sequence[Band],
    *,
    unit: str,
    hindsight: Hindsight = Hindsight(),
) -> Figure:
    traces = [_band(band) for band in bands] + [_level(band) for band in bands]
    traces += [_line(s, "level between change points", "solid") for s in hindsight.stretches]
    if hindsight.drift is not None:
        traces.append(_line(hindsight.drift, "drift since the reference", "dot"))
    traces.append(
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "start",
            "x": [p.place for p in points],
            "y": [p.value for p in points],
            "text": [f"{p.label}<br>{p.answer}" for p in points],
            "line": {"color": theme.RULE_STRONG, "width": 1},
            "marker": {
                "size": 9,
                "symbol": [_MARKS.get(p.answer, _OTHER)[0] for p in points],
                "color": [_MARKS.get(p.answer, _OTHER)[1] for p in points],
            },
            "hovertemplate": "%{y:.4~g} " + unit + "<br>%{text}<extra></extra>",
        }
    )
    return theme.figure(
        traces,
        xaxis=theme.axis("start, oldest first", dtick=max(1, len(points) // 12)),
        yaxis=theme.axis(unit),
        shapes=[_edge(p.place) for p in points if p.begins_segment]
        + [_edge(s.first) for s in hindsight.stretches[1:]],
        showlegend=False,
    )


def _band(band: Band) -> dict[str, Any]:
    reach = SUSPECT_SCALES * band.scale
    low, high = band.level - reach, band.level + reach
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "two scales",
        "x": [band.first, band.last, band.last, band.first],
        "y": [low, low, high, high],
        "fill": "toself",
        "fillcolor": "$accent-wash",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def _level(band: Band) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "baseline",
        "x": [band.first, band.last],
        "y": [band.level, band.level],
        "line": {"color": theme.INK, "width": 1, "dash": "dash"},
        "hoverinfo": "skip",
    }


def _line(stretch: Stretch, name: str, dash: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [stretch.first, stretch.last],
        "y": [stretch.begin, stretch.end],
        "line": {"color": theme.ACCENT, "width": 2, "dash": dash},
        "hoverinfo": "skip",
    }


def _edge(place: int) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": place - 0.5,
        "x1": place - 0.5,
        "y0": 0,
        "y1": 1,
        "line": {"color": theme.RULE_STRONG, "width": 1, "dash": "dot"},
    }
