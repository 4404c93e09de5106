"""An interval of a difference comes from fresh starts, and from nothing else."""

import pytest
from scipy import stats

from assay.analysis.comparability.between_starts import ONE_START_EACH, difference, welch


def test_welch_of_three_and_three_starts() -> None:
    found = welch([9.0, 10.0, 11.0], [19.0, 20.0, 21.0])

    # variances 1 and 1: error sqrt(1/3 + 1/3) = 0.81650; freedom (2/3)^2 / (2 (1/3)^2 / 2) = 4
    # t(0.975, 4) = 2.77645: 10 -+ 2.77645 * 0.81650 = 10 -+ 2.26696
    assert found is not None
    assert found.low == pytest.approx(7.73304, abs=1e-4)
    assert found.high == pytest.approx(12.26696, abs=1e-4)
    assert found.kind == "95% Welch over the values of 3 and 3 starts"


@pytest.mark.parametrize(
    ("reference", "other"),
    [
        ([10.0, 12.0], [20.0, 24.0]),
        ([0.101, 0.099, 0.104, 0.1], [0.13, 0.21]),
        ([5.0, 5.1, 4.9], [5.0, 5.2, 5.1, 5.0]),
    ],
)
def test_welch_is_that_of_scipy_for_unequal_variances(
    reference: list[float], other: list[float]
) -> None:
    found = welch(reference, other)
    theirs = stats.ttest_ind(other, reference, equal_var=False).confidence_interval(0.95)

    assert found is not None
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


def test_one_start_each_leaves_the_difference_alone() -> None:
    found = difference([0.100], [0.125], fresh=(1, 1))

    # 0.125 - 0.100 = 0.025; 0.025 / 0.100 = 25 %
    assert found.absolute == pytest.approx(0.025)
    assert found.relative == pytest.approx(0.25)
    assert found.interval is None
    assert found.no_interval == ONE_START_EACH
    assert ONE_START_EACH == "one start each: start-to-start spread unknown"


def test_several_starts_on_one_side_alone_give_no_interval() -> None:
    found = difference([0.1, 0.11, 0.12], [0.2], fresh=(3, 1))

    assert found.interval is None
    assert found.no_interval == "3 and 1 starts: start-to-start spread of one side unknown"


def test_runs_against_an_engine_that_nobody_started_are_no_starts() -> None:
    found = difference([0.1, 0.11], [0.2, 0.21], fresh=(0, 2))

    assert found.interval is None
    assert "not started afresh" in found.no_interval


def test_starts_that_all_agree_do_not_resolve_their_spread() -> None:
    found = difference([1.0, 1.0], [1.0, 1.0], fresh=(2, 2))

    assert (found.absolute, found.interval) == (0.0, None)
    assert "spread is not resolved" in found.no_interval


def test_a_reference_of_zero_has_no_relative_difference() -> None:
    assert difference([0.0], [0.2], fresh=(1, 1)).relative is None
