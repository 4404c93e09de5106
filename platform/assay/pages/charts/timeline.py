"""The timeline of one clock domain: request lanes, and rows of the engine and the host over the same axis.

With few attempts in sight each has its own lane, the client's view above the server's. With many, the lanes
become counts over time. Which of the two is shown is decided where the data is read, not here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.pages.charts import theme, tracks
from assay.pages.charts.theme import Figure, Trace
from assay.pages.charts.tracks import ROW_PIXELS, Track

# kind of interval -> label, colour, offset from the lane's middle (client above, server below)
KINDS: dict[str, tuple[str, str, float]] = {
    "client_send": ("client: connects and sends", "$client:0.2", -0.2),
    "client_waiting": ("client: waits for the first content", "$client:0.4", -0.2),
    "client_streaming": ("client: content arrives", "$client", -0.2),
    "server_queued": ("server: queued", "$server:0.35", 0.2),
    "server_unsplit": ("server: queue and prefill, not told apart", "$server:0.5", 0.2),
    "server_prefill": ("server: scheduled to first token", "$server:0.65", 0.2),
    "server_decode": ("server: generates", "$server", 0.2),
    "server_held": ("server: over, until its blocks are seen free", "$server:0.12", 0.2),
    "server_other": ("server: other", "$server:0.2", 0.2),
    "ghost": ("ghost load: server works on, client is gone", "$bad", 0.2),
}
REQUESTS_PIXELS = 360
MAX_LANE_LABELS = 45


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One interval of one attempt, in seconds from the run's origin. ``lane`` counts from zero."""

    kind: str
    lane: int
    from_s: float
    to_s: float
    attempt_id: str
    label: str

    @property
    def words(self) -> str:
        return KINDS[self.kind][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is drawn for one clock domain. ``bars`` or ``counts``, never both."""

    domain: str
    from_s: float
    to_s: float
    lanes: Sequence[str] = ()
    bars: Sequence[Bar] = ()
    count_at_s: Sequence[float] = ()
    counts: Mapping[str, Sequence[int]] = field(default_factory=dict)
    tracks: Sequence[Track] = ()


def timeline(view: View) -> Figure:
    rows = len(view.tracks)
    share = rows * ROW_PIXELS / (REQUESTS_PIXELS + rows * ROW_PIXELS)
    heights = tracks.spans(rows, share)
    layout: dict[str, object] = {
        "xaxis": theme.axis(
            f"s since origin, clock {short_domain(view.domain)}",
            range=[view.from_s, view.to_s],
            anchor=f"y{rows + 1}" if rows else "y",
        ),
        "yaxis": _request_axis(view, [share, 1]),
        "hovermode": "closest",
        "margin": {"l": 60, "r": 18, "t": 64, "b": 46},
        "annotations": tracks.names(view.tracks, heights),
        **tracks.axes(view.tracks, heights),
    }
    return theme.figure([*_bars(view), *_counts(view), *tracks.traces(view.tracks)], **layout)


def short_domain(domain: str) -> str:
    """The boot id cut to eight characters; the page beside says all of it."""
    boot, _, rest = domain.partition("/")
    return f"{boot[:8]}…" if rest and len(boot) > 9 else domain


def _bars(view: View) -> list[Trace]:
    width = min(7.0, max(1.0, 0.33 * REQUESTS_PIXELS / max(1, len(view.lanes))))
    traces = []
    for kind, (label, color, offset) in KINDS.items():
        own = [bar for bar in view.bars if bar.kind == kind]
        if not own:
            continue
        xs: list[float | None] = []
        ys: list[float | None] = []
        about: list[list[str] | None] = []
        for bar in own:
            xs += [bar.from_s, bar.to_s, None]
            ys += [bar.lane + offset, bar.lane + offset, None]
            about += [[bar.attempt_id, bar.label], [bar.attempt_id, bar.label], None]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": label,
                "x": xs,
                "y": ys,
                "customdata": about,
                "line": {"color": color, "width": width},
                "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
            }
        )
    return traces


def _counts(view: View) -> list[Trace]:
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": label,
            "x": list(view.count_at_s),
            "y": list(view.counts[kind]),
            "stackgroup": "client" if kind.startswith("client") else "server",
            "line": {"width": 1, "color": color, "shape": "hv"},
            "hovertemplate": f"%{{y}} attempts, {label}<extra></extra>",
        }
        for kind, (label, color, _) in KINDS.items()
        if kind in view.counts
    ]


def _request_axis(view: View, domain: list[float]) -> dict[str, object]:
    if view.counts:
        return theme.axis("attempts", domain=domain, fixedrange=True, rangemode="tozero")
    count = len(view.lanes)
    labelled = count <= MAX_LANE_LABELS
    return theme.axis(
        "attempts, in order of sending" if not labelled else "",
        domain=domain,
        fixedrange=True,
        range=[count - 0.4, -0.6],
        tickvals=list(range(count)) if labelled else [],
        ticktext=list(view.lanes) if labelled else [],
        tickfont={"family": "$mono", "size": 9.5 if count > 24 else 10.5},
        showgrid=False,
        ticks="",
    )
