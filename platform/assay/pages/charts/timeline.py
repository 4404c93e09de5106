"""The timeline of one clock domain: request lanes, engine iterations, queue depth and KV use over one axis.

With few attempts in sight each has its own lane, the client's view above the server's. With many, the lanes
become counts over time. Which of the two is shown is decided where the data is read, not here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.pages.charts import theme
from assay.pages.charts.theme import Figure, Trace

# kind of interval -> label, colour, offset from the lane's middle (client above, server below)
KINDS: dict[str, tuple[str, str, float]] = {
    "client_send": ("client: connects and sends", "$client:0.2", -0.2),
    "client_waiting": ("client: waits for the first content", "$client:0.4", -0.2),
    "client_streaming": ("client: content arrives", "$client", -0.2),
    "server_queued": ("server: queued", "$server:0.35", 0.2),
    "server_prefill": ("server: scheduled to first token", "$server:0.65", 0.2),
    "server_decode": ("server: generates", "$server", 0.2),
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
class Steps:
    """Engine iterations, or bins of them: parallel arrays over ``at_s``. None marks an unrecorded value."""

    at_s: Sequence[float] = ()
    running: Sequence[float | None] = ()
    waiting: Sequence[float | None] = ()
    kv_used: Sequence[float | None] = ()
    kv_total: int | None = None
    binned: bool = False


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
    steps: Steps | None = None


def timeline(view: View) -> Figure:
    traces = [*_bars(view), *_counts(view), *_steps(view)]
    has_steps = view.steps is not None and len(view.steps.at_s) > 0
    top = 0.5 if has_steps else 0.0
    layout: dict[str, object] = {
        "xaxis": theme.axis(
            f"s since origin, clock {short_domain(view.domain)}",
            range=[view.from_s, view.to_s],
            anchor="y4" if has_steps else "y",
        ),
        "yaxis": _request_axis(view, [top, 1]),
        "hovermode": "closest",
        "margin": {"l": 60, "r": 18, "t": 64, "b": 46},
    }
    if has_steps:
        layout |= {
            "yaxis2": _small_axis("in batch", [0.34, 0.46]),
            "yaxis3": _small_axis("waiting", [0.17, 0.29]),
            "yaxis4": _small_axis("KV blocks", [0.0, 0.12]),
        }
    return theme.figure(traces, **layout)


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


def _steps(view: View) -> list[Trace]:
    steps = view.steps
    if steps is None or not steps.at_s:
        return []
    how = "mean of bin" if steps.binned else "at each iteration"
    series = (
        ("y2", "in batch", steps.running, "%{y:.3~r} requests in the batch"),
        ("y3", "waiting", steps.waiting, "%{y:.3~r} requests wait"),
        ("y4", "KV blocks used", steps.kv_used, _kv_words(steps.kv_total)),
    )
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "showlegend": False,
            "x": list(steps.at_s),
            "y": list(values),
            "yaxis": axis,
            "fill": "tozeroy",
            "fillcolor": "$server:0.12",
            "line": {"color": "$server", "width": 1.3, "shape": "hv"},
            "connectgaps": False,
            "hovertemplate": f"{words}<br>{how}<extra></extra>",
        }
        for axis, name, values, words in series
        if any(value is not None for value in values)
    ]


def _kv_words(total: int | None) -> str:
    return "%{y:.3~r} KV blocks used" + (f" of {total}" if total else "")


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


def _small_axis(title: str, domain: list[float]) -> dict[str, object]:
    return theme.axis(title, domain=domain, fixedrange=True, rangemode="tozero", nticks=4)
