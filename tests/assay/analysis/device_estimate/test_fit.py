"""Named parameters are found again from steps that were made with them, each inside its interval."""

import pytest

from assay.analysis.device_estimate.fit import (
    Point,
    fit,
    left_out,
    moving_together,
    parameters_of,
)
from assay.analysis.device_estimate.parameters import KNOWN, starting_values
from assay.analysis.device_estimate.priced import estimate_s
from assay.analysis.device_estimate.terms import Amounts
from assay.analysis.errors import ClaimRefused

TRUE = {
    **starting_values(),
    "weight_pass.HBM3": 1.1,
    "layer_s.serving": 2e-5,
    "message_s.NVLink": 2e-5,
}


def point(id_: str, *, weights_s: float, layers: int, messages: int, factor: float = 1.0) -> Point:
    amounts = Amounts(
        work={"weight_pass.HBM3": weights_s, "layer_s.serving": layers},
        messages={"message_s.NVLink": messages},
    )
    return Point(id=id_, amounts=amounts, measured_s=factor * estimate_s(TRUE, amounts))


POINTS = [
    point("a1", weights_s=5e-3, layers=30, messages=0),
    point("a2", weights_s=1e-3, layers=30, messages=60),
    point("b1", weights_s=10e-3, layers=80, messages=160),
    point("b2", weights_s=2e-3, layers=80, messages=0),
    point("c1", weights_s=7e-3, layers=10, messages=200),
]


def test_parameters_are_found_again() -> None:
    found = fit(POINTS)

    for name in ("weight_pass.HBM3", "layer_s.serving", "message_s.NVLink"):
        assert found.values[name] == pytest.approx(TRUE[name], rel=0.05)


def test_what_no_step_touches_stays_as_it_was() -> None:
    found = fit(POINTS)

    assert found.values["row_s"] == KNOWN["row_s"].value
    assert "row_s" not in found.touched


@pytest.mark.req("13.23")
@pytest.mark.forbids
def test_a_parameter_never_leaves_its_interval_to_absorb_a_residual() -> None:
    # all steps three times as long as any value inside the intervals allows
    slow = [Point(id=p.id, amounts=p.amounts, measured_s=3 * p.measured_s) for p in POINTS]

    found = fit(slow)

    for name, value in found.values.items():
        assert KNOWN[name].low <= value <= KNOWN[name].high


def test_a_group_is_judged_by_a_fit_without_it() -> None:
    odd = [*POINTS[:4], point("c1", weights_s=7e-3, layers=10, messages=200, factor=2.0)]

    found = left_out(odd, odd, lambda id_: id_[0])

    assert found["c"].ids == ("a1", "a2", "b1", "b2")
    assert estimate_s(found["c"].values, odd[4].amounts) == pytest.approx(
        odd[4].measured_s / 2, rel=0.05
    )


def test_of_overlapped_micro_batches_the_longer_part_counts() -> None:
    amounts = Amounts(work={"layer_s.serving": 100}, messages={"message_s.NVLink": 50})

    # 100 x 20 us of work beside 50 x 20 us of messages
    assert estimate_s(TRUE, amounts) == pytest.approx(3e-3)
    assert estimate_s(TRUE, amounts, overlapped=True) == pytest.approx(2e-3)


@pytest.mark.parametrize(
    "points", [[], [Point(id="e1", amounts=Amounts(), measured_s=1.0, overlapped=True)]]
)
def test_nothing_and_overlapped_steps_are_not_fitted(points: list[Point]) -> None:
    with pytest.raises(ClaimRefused, match="fitted steps"):
        fit(points)


@pytest.mark.req("13.20")
def test_an_amount_that_nothing_is_known_of_is_refused_by_name() -> None:
    with pytest.raises(ClaimRefused, match=r"message_s\.Infinity Fabric"):
        estimate_s(starting_values(), Amounts(messages={"message_s.Infinity Fabric": 1}))


@pytest.mark.req("13.20")
def test_a_fitted_parameter_states_its_steps_its_interval_and_its_spread() -> None:
    whole = fit(POINTS)
    others = list(left_out(POINTS, POINTS, lambda id_: id_[0]).values())

    found = {p["name"]: p for p in parameters_of(whole, others)}

    moved = found["layer_s.serving"]
    assert moved["source"] == "fit"
    assert "5 published steps" in moved["reference"]
    assert moved["spread"] is not None
    assert moved["spread"][0] <= moved["value"] <= moved["spread"][1]
    assert found["row_s"]["source"] == "assumption"


def test_parameters_that_always_move_together_are_named() -> None:
    amounts = [Amounts(work={"layer_s.compiled": 32 * k, "step_s.compiled": k}) for k in (1, 2, 3)]
    points = [Point(id=str(k), amounts=a, measured_s=1.0) for k, a in enumerate(amounts)]

    assert moving_together(points) == ["layer_s.compiled and step_s.compiled"]
