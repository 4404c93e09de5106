"""What fresh starts confirm: by one repeat, or by interleaved pairs. Values by hand."""

import pytest

from assay.analysis.regression.baseline import Baseline
from assay.analysis.regression.confirmation import (
    Side,
    Verdict,
    by_pairs,
    by_repeats,
    is_far,
    order,
)

BASELINE = Baseline(level=100.0, scale=1.0, starts=12)


def test_far_off_and_far_off_three_times_more_confirms() -> None:
    found = by_repeats(BASELINE, 107.0, [106.5, 106.2, 108.0])

    assert found.verdict is Verdict.changed
    assert found.change == pytest.approx(0.0675)  # the median of the four
    assert found.starts == 3


def test_before_the_third_repeat_it_stays_open() -> None:
    assert by_repeats(BASELINE, 107.0, []).verdict is Verdict.open
    assert by_repeats(BASELINE, 107.0, [107.0, 107.0]).verdict is Verdict.open


@pytest.mark.parametrize(
    "repeats", [[106.0], [107.0, 93.0], [107.0, 107.0, 105.9]], ids=["at six", "other side", "late"]
)
def test_one_repeat_that_does_not_show_it_leaves_it_to_pairs(repeats: list[float]) -> None:
    assert by_repeats(BASELINE, 107.0, repeats).verdict is Verdict.unchanged


def test_many_scales_below_five_percent_are_for_pairs() -> None:
    steady = Baseline(level=100.0, scale=0.1, starts=12)

    assert not is_far(steady, 104.9)
    assert is_far(steady, 105.1)
    assert not is_far(BASELINE, 105.9)
    assert is_far(BASELINE, 93.9)


def test_pairs_are_interleaved_so_that_drift_favours_neither_side() -> None:
    a, b = Side.baseline, Side.new

    assert list(order(4)) == [a, b, b, a, a, b, b, a]


def test_twelve_pairs_confirm_beyond_three_percent_and_three_errors() -> None:
    # Expected of the baseline: 0.01 * sqrt(2 / 12) = 0.408 %. Differences 2 and 4.5 alternating: mean 3.25,
    # deviations 1.25, spread sqrt(12/11) * 1.25 = 1.306, error 0.377 % and so 0.408 %: 8 errors.
    found = by_pairs(BASELINE, [(100.0, 102.0), (100.0, 104.5)] * 6)

    assert found.verdict is Verdict.changed
    assert found.change == pytest.approx(0.0325)
    assert found.error == pytest.approx(0.01 * (2 / 12) ** 0.5)
    assert found.starts == 24


def test_twelve_pairs_with_less_than_three_percent_or_three_errors_do_not() -> None:
    assert by_pairs(BASELINE, [(100.0, 102.9)] * 12).verdict is Verdict.unchanged
    # differences 10 and -3: mean 3.5, deviations 6.5, spread 6.79, error 1.96: 1.8 errors
    assert by_pairs(BASELINE, [(100.0, 110.0), (100.0, 97.0)] * 6).verdict is Verdict.unchanged


def test_pairs_that_agree_by_chance_have_the_error_of_the_baseline() -> None:
    # 0.01 * sqrt(2 / 4) = 0.707 %: 3 % + 3 errors is 5.12 %
    assert by_pairs(BASELINE, [(100.0, 105.1)] * 4).verdict is Verdict.open
    assert by_pairs(BASELINE, [(100.0, 105.2)] * 4).verdict is Verdict.changed


def test_from_the_eighth_pair_on_four_errors_and_a_fifth_are_enough() -> None:
    # 0.03 * sqrt(2 / 8) = 1.5 %: 4.2 errors are 6.3 %, and 3 % + 3 errors would be 7.5 %
    wide = Baseline(level=100.0, scale=3.0, starts=12)

    assert by_pairs(wide, [(100.0, 106.2)] * 8).verdict is Verdict.open
    assert by_pairs(wide, [(100.0, 106.4)] * 8).verdict is Verdict.changed
    # with seven, 0.03 * sqrt(2 / 7) = 1.604 %: 3 % + 3 errors is 7.81 %
    assert by_pairs(wide, [(100.0, 106.8)] * 7).verdict is Verdict.open


def test_a_search_without_hope_ends_early_but_not_before_the_fourth_pair() -> None:
    # 1.5 errors of 0.707 % are 1.06 %: 1.93 % still may be 3 %, 1.95 % is open
    assert by_pairs(BASELINE, [(100.0, 100.0)] * 3).verdict is Verdict.open
    assert by_pairs(BASELINE, [(100.0, 101.9)] * 4).verdict is Verdict.unchanged
    assert by_pairs(BASELINE, [(100.0, 102.0)] * 4).verdict is Verdict.open


def test_both_directions_are_confirmed_alike() -> None:
    found = by_pairs(BASELINE, [(100.0, 94.0)] * 4)

    assert found.change == pytest.approx(-0.06)
    assert found.verdict is Verdict.changed
