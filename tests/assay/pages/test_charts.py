"""Figures: valid Plotly, colours by name, SVG traces only, and the right points."""

import json
import re
from typing import Any

import plotly.graph_objects as go
import pytest

from assay.pages.charts.distribution import POINTS, Curve, Rung, ecdf, ladder, steps, time_axis
from assay.pages.charts.residuals import dumbbells
from assay.pages.charts.sweep import Panel, Point, small_multiples
from assay.pages.charts.theme import Figure
from assay.pages.charts.timeline import Bar, View, timeline
from assay.pages.charts.tracks import Line, Track, spans
from assay.pages.residual_line import ResidualLine


def line(**changes: Any) -> ResidualLine:
    given: dict[str, Any] = {
        "quantity": "decode_step_s",
        "conditions": {"batch": 4},
        "unit": "s",
        "predicted": 0.02,
        "low": 0.018,
        "high": 0.023,
        "bound": 0.009,
        "measured": 0.021,
        "relative": 0.05,
        "layer": "engine_loop",
        "klass": "unexplained",
        "validity": "calibrated",
        "reason": "",
    }
    return ResidualLine(**(given | changes))


VIEW = View(
    domain="6f1c2a3e-58b1-4f0e/4026531834/monotonic",
    from_s=0.0,
    to_s=2.0,
    lanes=["a.A1"],
    bars=[
        Bar(kind="client_waiting", lane=0, from_s=0.1, to_s=0.4, attempt_id="a.A1", label="300 ms"),
        Bar(kind="ghost", lane=0, from_s=1.1, to_s=1.4, attempt_id="a.A1", label="300 ms"),
    ],
    tracks=[
        Track(
            key="step_tokens",
            title="step composition",
            unit="tokens",
            source="iterations.parquet",
            clock_domain="d",
            at_s=[0.1, 0.2],
            lines=[Line(label="prefill", values=[32, 0]), Line(label="decode", values=[0, None])],
            is_stacked=True,
        ),
        Track(
            key="cpu",
            title="cores in use",
            unit="cores",
            source="telemetry.parquet",
            clock_domain="d",
            at_s=[0.1, 0.2],
            lines=[Line(label="host", values=[1.5, 2.0], peak=[2.0, 2.0])],
            is_engines=False,
        ),
    ],
)
FIGURES = {
    "ecdf": ecdf([Curve(label="TTFT", rule="ttft", values_s=[0.1, 0.2], offered=4)], "load"),
    "ladder": ladder(
        [
            Rung(metric="ttft", statistic="p50", value_s=0.1, low_s=0.09, high_s=None, population="x"),
            Rung(metric="ttft", statistic="p95", value_s=0.3, low_s=None, high_s=0.4, population="x"),
        ]
    ),
    "dumbbells": dumbbells([line(), line(measured=0.05, bound=None), line(low=None, high=None)]),
    "sweep": small_multiples(
        [Panel(title="TTFT", unit="ms", points=[Point(x=1, y=2.0, low=1.0, high=None, run="#0")])],
        "load.concurrency",
    ),
    "timeline": timeline(VIEW),
    "timeline of counts": timeline(
        View(domain="d", from_s=0, to_s=1, count_at_s=[0.5], counts={"client_waiting": [3]})
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_valid_plotly_once_its_colours_are_resolved(name: str) -> None:
    text = re.sub(r'"\$(sans|mono)"', '"serif"', json.dumps(FIGURES[name]))
    text = re.sub(r'"\$[a-z0-9-]+(:[0-9.]+)?"', '"#123456"', text)

    go.Figure(json.loads(text))  # raises ValueError on any property that Plotly does not know


@pytest.mark.parametrize("name", FIGURES)
def test_only_svg_traces_are_used(name: str) -> None:
    assert {trace["type"] for trace in FIGURES[name]["data"]} <= {"scatter", "bar"}


@pytest.mark.parametrize("name", FIGURES)
def test_every_value_axis_says_its_unit(name: str) -> None:
    titles = [
        axis["title"]["text"]
        for key, axis in FIGURES[name]["layout"].items()
        if key.startswith("xaxis")
    ]

    assert titles
    assert all(titles)


def colours(figure: Figure) -> set[str]:
    return set(re.findall(r"\$(client|server|task|resource)", json.dumps(figure)))


def test_ledger_hues_are_used_for_ledgers_only() -> None:
    others = ("ecdf", "ladder", "dumbbells", "sweep")

    assert all(not colours(FIGURES[name]) for name in others)
    assert colours(FIGURES["timeline"]) == {"client", "server"}


def test_a_curve_ends_at_the_share_that_got_there() -> None:
    # two of four offered requests have a value: steps at 1/4 and 2/4
    assert steps([0.2, 0.1], 4) == ([0.1, 0.2], [0.25, 0.5])


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    xs, ys = steps([float(i) for i in range(5000)], 5000)

    assert len(xs) == POINTS
    assert (xs[0], xs[-1], ys[-1]) == (0.0, 4999.0, 1.0)


def test_time_ticks_are_named_as_people_name_times() -> None:
    axis = time_axis([0.02, 1.5])

    assert axis["ticktext"] == ["20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s"]


def test_a_measurement_is_drawn_as_inside_or_outside_its_range() -> None:
    figure = dumbbells([line(), line(measured=0.05)])

    names = [trace["name"] for trace in figure["data"]]
    assert "measured, inside the range" in names
    assert "measured, outside the range" in names


@pytest.mark.req("13.08")
def test_a_bound_is_called_bound_and_nothing_else() -> None:
    bound = next(t for t in FIGURES["dumbbells"]["data"] if t["name"] == "bound")

    assert bound["x"][0] == pytest.approx(0.45)  # 0.009 / 0.02
    assert bound["hovertemplate"].startswith("bound ")


def test_rows_share_the_axis_of_the_lanes_and_say_where_they_come_from() -> None:
    figure = FIGURES["timeline"]

    layout = figure["layout"]
    assert layout["xaxis"]["anchor"] == "y3"  # below the last row
    assert [layout[f"yaxis{n}"]["title"]["text"] for n in (2, 3)] == ["tokens", "cores"]
    assert layout["annotations"][0]["text"] == "step composition · prefill, decode"
    own = [t for t in figure["data"] if t.get("yaxis") == "y2"]
    assert all("iterations.parquet" in t["hovertemplate"] for t in own)


def test_rows_stand_one_below_the_other() -> None:
    # two rows over half of the height: 0.25 each, a third of it kept free above the next
    upper, lower = spans(2, 0.5)

    assert upper == pytest.approx((0.25, 0.415))
    assert lower == pytest.approx((0.0, 0.165))
