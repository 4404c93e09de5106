"""Residuals of several sides stand in one row where quantity, unit and conditions are the same."""

from typing import Any

from assay.analysis.comparability.record import Residual, RunRecord
from assay.analysis.comparability.residual_rows import residual_rows
from assay.analysis.comparability.sides import sides_of
from tests.assay.analysis.comparability.runs import run


def residual(measured: float | None, **fields: Any) -> Residual:
    made: dict[str, Any] = {
        "quantity": "decode_step_s",
        "conditions": {"batch": 4},
        "unit": "s",
        "predicted": 0.02,
        "measured": measured,
        "relative": None if measured is None else (measured - 0.02) / 0.02,
        "validity": "calibrated",
        "klass": "",
        "reason": "" if measured is not None else "no step of that batch",
    }
    return Residual(**(made | fields))


def b(*residuals: Residual) -> RunRecord:
    return run("b", "load.concurrency=1", residuals=residuals)


def test_the_same_quantity_under_the_same_conditions_is_one_row() -> None:
    (row,) = residual_rows(sides_of([run("a", residuals=(residual(0.025),)), b(residual(0.018))]))

    # (0.025 - 0.02) / 0.02 = 25 %; (0.018 - 0.02) / 0.02 = -10 %
    assert [round(v.relative or 0, 6) for v in row.values if v] == [0.25, -0.1]


def test_other_conditions_are_another_row() -> None:
    found = residual_rows(
        sides_of(
            [run("a", residuals=(residual(0.025),)), b(residual(0.018, conditions={"batch": 1}))]
        )
    )

    assert [(row.conditions, row.values[1] is None) for row in found] == [
        ({"batch": 4}, True),
        ({"batch": 1}, False),
    ]


def test_several_starts_give_their_median() -> None:
    starts = [run(f"a{n}", residuals=(residual(v),)) for n, v in enumerate((0.02, 0.03, 0.025))]

    (row,) = residual_rows(sides_of(starts))

    assert row.values[0] is not None
    assert (row.values[0].measured, row.values[0].runs) == (0.025, 3)


def test_what_no_side_measured_is_left_out() -> None:
    assert residual_rows(sides_of([run("a", residuals=(residual(None),))])) == ()
