"""Rows below the lanes of a timeline: step composition, queue, KV use, scraped gauges, host readings.

All rows of one figure share its axis and therefore its clock domain; each says where its values come from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.pages.charts import theme
from assay.pages.charts.theme import Trace

ROW_PIXELS = 84
_GAP = 0.34  # of a row, between it and the next
SERVER = ("$server", "$server:0.55", "$server:0.35", "$server:0.2")
_DASHES = ("solid", "dot", "dash", "dashdot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The range that is drawn: seconds from ``origin_ns``, on the clock of ``domain``."""

    domain: str
    origin_ns: int
    start_s: float
    end_s: float

    @property
    def low_ns(self) -> int:
        return self.origin_ns + round(self.start_s * 1e9)

    @property
    def high_ns(self) -> int:
        return self.origin_ns + round(self.end_s * 1e9)

    def seconds(self, t_ns: int) -> float:
        return round((t_ns - self.origin_ns) / 1e9, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series over the instants of its track. ``peak`` is the most of each bin, where values are means."""

    label: str
    values: Sequence[float | None]
    peak: Sequence[float | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One row. ``source`` is the file of the bundle or reading that its values come from."""

    key: str
    title: str
    unit: str
    source: str
    clock_domain: str
    at_s: Sequence[float]
    lines: Sequence[Line]
    is_engines: bool = True
    is_stacked: bool = False
    is_stepped: bool = True
    binned: bool = False
    error_ns: int = 0
    note: str = ""

    @property
    def points(self) -> int:
        return len(self.at_s)

    @property
    def least(self) -> float | None:
        return min(self._known(), default=None)

    @property
    def most(self) -> float | None:
        return max(self._known(), default=None)

    def _known(self) -> Iterator[float]:
        for line in self.lines:
            for value in (*line.values, *(line.peak or ())):
                if value is not None:
                    yield value


def traces(tracks: Sequence[Track]) -> Iterator[Trace]:
    for row, track in enumerate(tracks):
        for place, line in enumerate(track.lines):
            yield _trace(track, line, place, axis=f"y{row + 2}")
            if line.peak is not None:
                yield _peak(track, line, axis=f"y{row + 2}")


def axes(tracks: Sequence[Track], heights: Sequence[tuple[float, float]]) -> dict[str, object]:
    """One y axis a row, from the top; ``heights`` are their parts of the figure."""
    return {
        f"yaxis{row + 2}": theme.axis(
            track.unit,
            domain=list(span),
            fixedrange=True,
            rangemode="tozero",
            nticks=4,
            tickfont={"size": 10},
        )
        for row, (track, span) in enumerate(zip(tracks, heights, strict=True))
    }


def names(
    tracks: Sequence[Track], heights: Sequence[tuple[float, float]]
) -> list[dict[str, object]]:
    """What each row is, above it."""
    return [
        {
            "text": f"{track.title} · {', '.join(line.label for line in track.lines)}"
            if len(track.lines) > 1
            else track.title,
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": top,
            "yref": "paper",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 11, "color": theme.SOFT},
        }
        for track, (_bottom, top) in zip(tracks, heights, strict=True)
    ]


def spans(rows: int, share: float) -> list[tuple[float, float]]:
    """From the top down: the parts of ``share`` of a figure's height that its rows take."""
    whole = share / rows if rows else 0.0
    return [(share - (row + 1) * whole, share - row * whole - _GAP * whole) for row in range(rows)]


def _trace(track: Track, line: Line, place: int, *, axis: str) -> Trace:
    how = " (mean of bin)" if track.binned else ""
    fill: dict[str, object] = {}
    if track.is_stacked:
        fill = {"stackgroup": track.key}
    elif place == 0 and track.is_engines:
        fill = {"fill": "tozeroy", "fillcolor": "$server:0.12"}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": line.label,
        "showlegend": False,
        "x": list(track.at_s),
        "y": list(line.values),
        "yaxis": axis,
        "line": _style(track, place),
        "connectgaps": False,
        "hovertemplate": f"{line.label}: %{{y:.4~r}} {track.unit}{how}<br>{track.source}<extra></extra>",
        **fill,
    }


def _style(track: Track, place: int) -> dict[str, object]:
    shape = "hv" if track.is_stepped else "linear"
    if track.is_engines:
        color, dash = SERVER[place % len(SERVER)], _DASHES[place % len(_DASHES)]
        if track.is_stacked:
            dash = "solid"
        return {"color": color, "dash": dash, "width": 1.3, "shape": shape}
    style = theme.SERIES[place % len(theme.SERIES)]
    return {**style, "width": 1.3, "shape": shape}


def _peak(track: Track, line: Line, *, axis: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{line.label}, most of bin",
        "showlegend": False,
        "x": list(track.at_s),
        "y": list(line.peak or ()),
        "yaxis": axis,
        "line": {"color": theme.RULE_STRONG, "width": 0.8, "shape": "hv"},
        "connectgaps": False,
        "hovertemplate": f"{line.label}: %{{y:.4~r}} {track.unit} (most of bin)<extra></extra>",
    }
