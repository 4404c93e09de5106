"""Whether a series goes up."""

import random

import pytest

from runners.protocol.trend import upward


def test_a_straight_line_is_worked_by_hand() -> None:
    # 1, 3, 5, 7, 9: all 10 pairs rise, S = 10; Var = 5 * 4 * 15 / 18 = 16.667, z = 9 / 4.0825 = 2.2045
    # one-sided p = 1 - Phi(2.2045) = 0.01374; every slope is 2, times 5 values = 10
    trend = upward([1, 3, 5, 7, 9])

    assert trend.p == pytest.approx(0.01374, abs=1e-5)
    assert trend.rise == 10


def test_what_falls_or_stays_has_no_rise() -> None:
    assert upward([9, 7, 5, 3, 1]).p == 1.0
    assert upward([4.0] * 20).p == 1.0
    assert upward([1, 2, 3]).p == 1.0  # too few to say anything


def test_chance_is_called_a_rise_as_often_as_the_level_says() -> None:
    draw = random.Random(1).random
    found = sum(upward([draw() for _ in range(20)]).p < 0.05 for _ in range(1000))

    # 50 expected of 1000 at a level of 5 %; binomial sigma 6.9
    assert 25 <= found <= 75
