"""Figures drawn without a script: where values come to lie, and that none is left out in silence."""

import re
from typing import Any

import pytest

from assay.pages.charts.overlay import PlanePoint, SideCurve, overlaid_ecdf, throughput_over_latency
from assay.pages.formatting import quantity
from assay.pages.reports.drawing.marks import mark
from assay.pages.reports.drawing.plot import drawing
from assay.pages.reports.drawing.scale import scale, ticks


def test_a_linear_axis_puts_the_middle_in_the_middle() -> None:
    found = scale({"range": [0, 4]}, [], start=100, end=200)

    # 1 of 4 is a quarter of the way from 100 to 200.
    assert found.at(1) == 125
    assert [words for _, words in ticks({"range": [0, 4], "dtick": 2}, found)] == ["0", "2", "4"]


def test_a_logarithmic_axis_has_no_place_for_zero() -> None:
    found = scale({"type": "log", "range": [-2, 0]}, [], start=0, end=100)

    # 0.1 is one of two decades above 0.01.
    assert found.at(0.1) == pytest.approx(50)
    assert found.at(0) is None


def test_a_reversed_axis_of_names_begins_at_the_top() -> None:
    axis = {"autorange": "reversed"}
    found = scale(axis, ["TTFT", "TPOT"], start=90, end=0)

    # Two names, each in the middle of its half; y runs downwards on a sheet.
    assert [round(at) for at, _ in ticks(axis, found)] == [22, 68]


def test_an_axis_without_a_range_holds_its_values_and_starts_at_zero_where_it_must() -> None:
    free = scale({}, [2, 4], start=0, end=100)
    zero = scale({"rangemode": "tozero"}, [2, 4], start=0, end=100)
    alone = scale({}, [3], start=0, end=100)

    assert (free.low, free.high) == pytest.approx((1.9, 4.1))  # 5 % of 2 on either side
    assert (zero.low, zero.high) == pytest.approx((0, 4.2))
    assert alone.at(3) == 50


def test_a_curve_of_steps_goes_across_and_then_up() -> None:
    figure = overlaid_ecdf([SideCurve(place=0, label="A <b>", values_s=[0.1, 0.2], offered=4)])

    drawn = drawing(figure, "Distributions")

    path = re.search(r'd="(M[^"]*V[^"]*)"[^>]*stroke-width="2"', drawn)
    assert path is not None
    assert re.fullmatch(r"M[\d.]+ [\d.]+(H[\d.]+V[\d.-]+)+", path[1])
    assert "A &lt;b&gt; (2 of 4)" in drawn
    assert "var(--accent)" in drawn
    assert "$" not in drawn


def test_a_front_draws_every_side_and_leaves_those_behind_open() -> None:
    points = [
        PlanePoint(
            place=n,
            letter=letter,
            latency_s=latency,
            latency=quantity(latency, "s"),
            throughput=rate,
            on_front=on,
        )
        for n, (letter, latency, rate, on) in enumerate(
            [("A", 0.1, 40.0, True), ("B", 0.2, 30.0, False)]
        )
    ]

    drawn = drawing(throughput_over_latency(points, "TTFT p50", "tokens a second"), "Front")

    assert drawn.count(">A</text>") == drawn.count(">B</text>") == 2  # wide and narrow
    assert 'fill="none" stroke="var(--ink)"' in drawn  # B's diamond


@pytest.mark.parametrize(
    "trace", [{"type": "heatmap", "x": [1], "y": [1]}, {"type": "waterfall", "x": ["a"], "y": [1]}]
)
def test_a_kind_of_trace_without_a_drawing_is_an_error_and_no_gap(trace: dict[str, Any]) -> None:
    with pytest.raises(KeyError):
        drawing({"data": [trace], "layout": {}}, "x")


def test_a_symbol_without_a_drawing_is_an_error() -> None:
    with pytest.raises(KeyError):
        mark("hexagon", 0, 0, 8, "$ink")
