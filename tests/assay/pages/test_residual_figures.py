"""What a measured time is made of, and how far below the roofs its work lies."""

from typing import Any

import pytest

from assay.pages.charts.measured_roofline import measured_roofline as drawn
from assay.pages.charts.residual_waterfall import residual_waterfall
from assay.pages.residual_line import ResidualLine
from assay.pages.under_roofs import measured_roofline
from runners.protocol.documents import Parameter
from tests.assay.analysis.run_specs import spec as run_spec


def line(quantity: str = "decode_step", **changed: Any) -> ResidualLine:
    known: dict[str, Any] = {
        "quantity": quantity,
        "conditions": {"batch": 1, "context_tokens": 76, "case": "short"},
        "unit": "s",
        "predicted": 0.060,
        "low": 0.050,
        "high": 0.070,
        "bound": 0.020,
        "measured": 0.080,
        "relative": 1 / 3,
        "layer": "engine_loop",
        "klass": "unexplained",
        "validity": "extrapolated",
        "reason": "",
    }
    return ResidualLine(**(known | changed))


def parameter(name: str, value: float, unit: str) -> Parameter:
    return Parameter(
        name=name,
        value=value,
        unit=unit,
        source="micro-benchmark",
        reference="this host",
        date=None,
        spread=[value, value],
    )


ROOFS = [
    parameter("read_bandwidth_best", 20e9, "byte/s"),
    parameter("flops_best_float32", 100e9, "FLOP/s"),
]


def test_a_time_is_bound_named_parameters_and_residual() -> None:
    longer, shorter = line(), line(conditions={"batch": 2}, measured=0.050)

    bound, named, missing, beyond = residual_waterfall([longer, shorter])["data"]

    # of 80 ms: 20 are bound, 60 - 20 named, 20 are left; of 50 ms: 20, 30, and 10 more were predicted
    assert bound["x"] == pytest.approx([0.25, 0.4])
    assert named["x"] == pytest.approx([0.5, 0.6])
    assert missing["x"] == pytest.approx([0.25, 0.0])
    assert beyond["x"] == pytest.approx([0.0, 0.2])


def test_a_row_without_one_of_the_three_is_not_drawn() -> None:
    rows = [line(bound=None), line(measured=None), line(predicted=None), line(unit="byte")]

    assert all(trace["y"] == [] for trace in residual_waterfall(rows)["data"])


@pytest.mark.req("13.06")
def test_a_measured_step_lies_under_the_roof_of_its_level() -> None:
    found = measured_roofline(run_spec(), ROOFS, [line()])

    assert found is not None
    [point] = found.points
    # SmolLM2 in float32, one sequence over 76 tokens; the same work that is predicted for such a step
    assert (point.flops, point.bytes) == (274281984, 541467648)
    assert point.reached == pytest.approx(274281984 / 0.080)
    # below the ridge of 100 / 20 = 5 FLOP/byte the roof is intensity x 20 GB/s
    assert point.roof == pytest.approx(274281984 / 541467648 * 20e9)
    assert point.share == pytest.approx(541467648 / 20e9 / 0.080)
    assert drawn(found)["data"][1]["y"] == pytest.approx([274281984 / 0.080 / 1e9])


def test_without_roofs_or_without_a_measured_step_there_is_no_figure() -> None:
    assert measured_roofline(run_spec(), ROOFS[:1], [line()]) is None
    assert measured_roofline(run_spec(), ROOFS, [line(measured=None)]) is None
    assert measured_roofline(run_spec(), ROOFS, [line("ttft")]) is None


@pytest.mark.forbids
def test_an_engine_without_a_model_is_put_under_no_roof() -> None:
    spec = run_spec()
    replay = {**spec, "engine": {**spec["engine"], "key": "replay"}}

    assert measured_roofline(replay, ROOFS, [line()]) is None
