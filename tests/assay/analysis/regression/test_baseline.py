"""The level and spread of a baseline, by hand."""

import pytest

from assay.analysis.regression.baseline import (
    Baseline,
    TooFewStarts,
    accepted,
    baseline_of,
    robust_scale,
)


def test_the_scale_is_the_mad_of_a_normal_law_with_its_small_sample_factor() -> None:
    # median 3; deviations 2 1 0 1 7, their median 1; 1.4826 * 1 * 5 / 4.2 = 1.765
    assert robust_scale([1, 2, 3, 4, 10]) == pytest.approx(1.4826 * 5 / 4.2)


def test_a_baseline_takes_twelve_fresh_starts() -> None:
    # median of 1..12 is 6.5; deviations 0.5 to 5.5 twice each, their median 3; 1.4826 * 3 * 12 / 11.2
    found = baseline_of(list(range(1, 13)))

    assert (found.level, found.starts) == (6.5, 12)
    assert found.scale == pytest.approx(1.4826 * 3 * 12 / 11.2)


def test_starts_that_agree_by_chance_do_not_make_the_scale_vanish() -> None:
    assert baseline_of([200.0] * 12).scale == pytest.approx(1.0)  # half a percent of 200


@pytest.mark.parametrize("values", [[1.0] * 11, [-1.0, 0.0, 1.0] * 4], ids=["eleven", "about zero"])
def test_what_makes_no_baseline_is_refused(values: list[float]) -> None:
    with pytest.raises(TooFewStarts):
        baseline_of(values)


def test_an_accepted_level_keeps_the_relative_spread() -> None:
    former = Baseline(level=100.0, scale=2.0, starts=12)

    found = accepted(former, [110.0, 108.0, 112.0])

    assert (found.level, found.starts) == (110.0, 3)
    assert found.scale == pytest.approx(2.2)
