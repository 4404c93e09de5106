"""Lengths follow the declared distribution and the seed alone."""

import statistics
from itertools import islice
from typing import Any

import pytest

from runners.load.lengths import lengths

EMPTY: dict[str, Any] = dict.fromkeys(("minimum", "maximum", "mean", "deviation")) | {"values": []}


def drawn(count: int = 20_000, seed: str = "7", **rule: Any) -> list[int]:
    return list(islice(lengths(EMPTY | rule, seed=seed), count))


def test_the_same_seed_draws_the_same_lengths() -> None:
    rule: dict[str, Any] = {"kind": "uniform", "minimum": 1, "maximum": 1000}

    assert drawn(50, **rule) == drawn(50, **rule)
    assert drawn(50, **rule) != drawn(50, seed="8", **rule)


def test_a_uniform_length_takes_every_value_alike() -> None:
    found = drawn(kind="uniform", minimum=3, maximum=6)

    # 20,000 draws of 4 values: 5,000 each, standard deviation sqrt(20,000 x 1/4 x 3/4) = 61
    assert sorted(set(found)) == [3, 4, 5, 6]
    assert all(abs(found.count(value) - 5000) < 4 * 61 for value in (3, 4, 5, 6))


def test_a_normal_length_has_its_mean_and_deviation_and_is_clipped() -> None:
    wide = drawn(kind="normal", mean=100, deviation=10, minimum=1, maximum=500)
    narrow = drawn(kind="normal", mean=100, deviation=10, minimum=95, maximum=105)

    assert statistics.fmean(wide) == pytest.approx(100, abs=0.3)  # 10 / sqrt(20,000) = 0.07
    assert statistics.stdev(wide) == pytest.approx(10, abs=0.2)
    assert min(narrow) == 95
    assert max(narrow) == 105
    # what lies half a deviation beyond: P(Z < -0.45) = 0.326, with rounding at 95.5
    assert narrow.count(95) / len(narrow) == pytest.approx(0.326, abs=0.015)


def test_a_lognormal_length_has_its_median_and_a_long_tail() -> None:
    found = drawn(kind="lognormal", mean=100, deviation=0.5, minimum=1, maximum=10_000)

    assert statistics.median(found) == pytest.approx(100, abs=2)
    # exp(0.5^2 / 2) = 1.133: the mean lies above the median
    assert statistics.fmean(found) == pytest.approx(113.3, abs=2)


def test_a_listed_length_is_one_of_the_values_as_often_as_it_stands_there() -> None:
    found = drawn(kind="listed", values=[10, 10, 10, 500])

    assert sorted(set(found)) == [10, 500]
    assert found.count(10) / len(found) == pytest.approx(0.75, abs=0.015)
