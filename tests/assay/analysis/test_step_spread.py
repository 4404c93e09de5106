"""A range's ends come from cells that the fit had not seen, each with the same weight."""

import pytest

from assay.analysis.step_spread import LEVELS, Spread, quantiles


def test_each_cell_weighs_the_same_however_many_steps_it_has() -> None:
    found = quantiles([[0.9] * 1000, [1.1] * 10])

    middle = LEVELS.index(0.5)
    assert found[middle - 10] == pytest.approx(0.9)
    assert found[middle + 10] == pytest.approx(1.1)


def test_ends_leave_the_same_share_out_on_either_side() -> None:
    # 101 ratios 0.50, 0.51 ... 1.50: 5 % and 95 % lie near 0.55 and 1.45
    ratios = quantiles([[0.5 + n / 100 for n in range(101)]])
    spread = Spread(ratios={"decode": ratios, "prompt": ratios}, coverage=0.9)

    assert spread.ends("decode") == (pytest.approx(0.55, abs=0.01), pytest.approx(1.45, abs=0.01))
    interval = spread.around(2.0, decodes=True)
    assert (interval.value, interval.low) == (2.0, pytest.approx(1.1, abs=0.02))


def test_an_estimate_always_lies_in_its_own_range() -> None:
    ratios = quantiles([[1.2, 1.3]])
    spread = Spread(ratios={"decode": ratios, "prompt": ratios}, coverage=0.9)

    found = spread.around(1.0, decodes=False)
    assert found.low <= found.value <= found.high
