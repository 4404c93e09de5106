"""The solver keeps to limits and is not led by outliers."""

import numpy as np
import pytest

from assay.analysis.fitting.solve import Prior, inseparable, solve

FREE = Prior(name="fixed", value=1e-3, low=0.0, high=5e-3, measured=False)
MEASURED = Prior(name="rate", value=2.0, low=1.9, high=2.2, measured=True)
AMOUNTS = np.array([[1.0, 0.01], [1.0, 0.02], [1.0, 0.04], [1.0, 0.08], [1.0, 0.16], [1.0, 0.32]])


def fitted(fixed: float, rate: float) -> dict[str, float]:
    measured = AMOUNTS @ np.array([fixed, rate])
    values = solve(AMOUNTS, measured, np.ones(6), [FREE, MEASURED])
    return {"fixed": float(values[0]), "rate": float(values[1])}


def test_both_are_found_where_the_points_lie_on_the_line() -> None:
    found = fitted(20e-3, 2.1)

    assert found["fixed"] == pytest.approx(20e-3, rel=0.02)
    assert found["rate"] == pytest.approx(2.1, rel=0.01)


@pytest.mark.req("13.23")
@pytest.mark.forbids
def test_a_measured_parameter_never_leaves_its_own_spread() -> None:
    assert fitted(20e-3, 3.0)["rate"] == pytest.approx(2.2)
    assert fitted(20e-3, 1.0)["rate"] == pytest.approx(1.9)


@pytest.mark.forbids
def test_no_parameter_turns_negative() -> None:
    assert fitted(-5e-3, 2.0)["fixed"] >= 0


def test_one_step_that_was_held_up_counts_little() -> None:
    measured = AMOUNTS @ np.array([20e-3, 2.0])
    measured[3] *= 6

    values = solve(AMOUNTS, measured, np.ones(6), [FREE, MEASURED])

    assert values[0] == pytest.approx(20e-3, rel=0.15)


def test_columns_that_move_together_are_named() -> None:
    table = np.array([[1.0, 30.0, 1.0], [1.0, 30.0, 5.0]])

    assert inseparable(table, ["step", "layer", "row"]) == ["step and layer"]
