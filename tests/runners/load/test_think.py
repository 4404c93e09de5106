"""How long a worker thinks."""

import statistics
from typing import Any

import pytest

from runners.load.think import Think
from runners.protocol.errors import Refused
from tests.runners.load.drives import load_of


def times_s(**declared: Any) -> list[float]:
    think = Think.from_load(load_of(think_time_s=0.5, seed=9, **declared))
    return [think.ns(f"load-{n:04d}") / 1e9 for n in range(20_000)]


def test_constant_think_times_are_all_alike() -> None:
    assert set(times_s()) == {0.5}


@pytest.mark.parametrize(
    ("declared", "cv"),
    [
        ({"think_time": "exponential"}, 1.0),
        ({"think_time": "lognormal", "think_cv": 0.5}, 0.5),
        ({"think_time": "lognormal", "think_cv": 1.5}, 1.5),
    ],
)
def test_drawn_think_times_have_their_mean_and_spread(declared: dict[str, Any], cv: float) -> None:
    times = times_s(**declared)

    # the mean of 20,000 is known to cv / 141, at most 1.1 %
    mean = statistics.mean(times)
    assert mean == pytest.approx(0.5, rel=0.05)
    assert statistics.stdev(times) / mean == pytest.approx(cv, rel=0.12)
    assert times == times_s(**declared)


def test_a_distribution_that_is_not_known_is_refused() -> None:
    with pytest.raises(Refused, match=r"load\.think_time"):
        Think.from_load(load_of(think_time="normal"))
    with pytest.raises(Refused, match=r"load\.think_cv"):
        Think.from_load(load_of(think_time="lognormal", think_cv=None))
