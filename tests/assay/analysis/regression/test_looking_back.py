"""Drift against a reference and change points: made series whose truth is known."""

import numpy as np
import pytest

from assay.analysis.regression.change_points import change_points
from assay.analysis.regression.drift import drift


def noise(seed: int, n: int, *, share: float = 0.01) -> list[float]:
    drawn = np.random.default_rng(seed).standard_normal(n)
    return [100 * (1 + share * float(z)) for z in drawn]


def test_a_straight_line_has_its_own_slope_and_end() -> None:
    # 100, 100.5, ... 109.5 over 20 starts: median 104.75, slope 0.5, end 104.75 + 0.5 * 19 / 2 = 109.5
    found = drift(100.0, [100 + 0.5 * k for k in range(20)])

    assert found is not None
    assert found.slope == pytest.approx(0.5)
    assert found.change == pytest.approx(0.095)
    assert found.is_one


@pytest.mark.parametrize("sign", [1, -1])
def test_a_slow_drift_under_noise_is_found_in_both_directions(sign: int) -> None:
    values = [v + sign * 0.3 * k for k, v in enumerate(noise(3, 25))]

    found = drift(100.0, values)

    assert found is not None
    assert found.is_one


def test_a_level_that_stands_still_is_no_drift() -> None:
    found = [drift(100.0, noise(seed, 25)) for seed in range(50)]

    assert not any(d.is_one for d in found if d is not None)


def test_so_few_starts_have_no_trend() -> None:
    assert drift(100.0, [1.0] * 9) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_is_placed_where_it_happened(sign: int) -> None:
    values = noise(5, 40)
    values[25:] = [v * (1 + sign * 0.06) for v in values[25:]]

    (found,) = change_points(values)

    assert found.at == pytest.approx(25, abs=1)
    assert found.change == pytest.approx(sign * 0.06, abs=0.015)


def test_a_flat_series_has_no_change_point() -> None:
    assert [change_points(noise(seed, 60)) for seed in range(20)] == [[]] * 20


def test_a_step_below_three_percent_is_dropped() -> None:
    values = [100.0] * 20 + [102.0] * 20

    assert change_points(values) == []


def test_too_short_a_series_is_not_looked_at() -> None:
    assert change_points([1.0] * 4 + [2.0] * 5) == []


def test_small_steps_on_the_way_belong_to_the_level_before_the_one_that_counts() -> None:
    # twenty at 100, twenty at 102 (2 %: dropped), twenty at 120: the level before is the median of forty, 101
    values = [100.0] * 20 + [102.0] * 20 + [120.0] * 20

    (found,) = change_points(values)

    assert (found.at, found.before, found.after) == (40, 101.0, 120.0)
