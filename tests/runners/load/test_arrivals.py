"""When requests leave is a pure function of the declaration."""

import itertools
import math
import statistics

import pytest

from runners.load.arrivals import closed_slots, constant_offsets_ns, poisson_offsets_ns
from runners.protocol.errors import Refused


def test_a_closed_loop_deals_requests_to_its_slots_in_turn() -> None:
    assert closed_slots(7, concurrency=3) == [0, 1, 2, 0, 1, 2, 0]


def test_constant_arrivals_are_truly_constant() -> None:
    # 4 a second: every 0.25 s = 250,000,000 ns, the first at once
    assert constant_offsets_ns(4, rate_per_s=4.0) == [0, 250_000_000, 500_000_000, 750_000_000]


def test_rounding_does_not_add_up() -> None:
    # 3 a second: request 3000 is due at exactly 1000 s, though each gap is 333,333,333.3 ns
    assert constant_offsets_ns(3001, rate_per_s=3.0)[3000] == 1_000 * 10**9


def test_poisson_arrivals_follow_from_the_seed() -> None:
    # random.Random(1).random() = 0.13436424411240122, 0.8474337369372327; gap = -ln(1 - u) / 2
    first = -math.log(1 - 0.13436424411240122) / 2
    second = first - math.log(1 - 0.8474337369372327) / 2

    assert poisson_offsets_ns(2, rate_per_s=2.0, seed=1) == [
        round(first * 1e9),
        round(second * 1e9),
    ]


def test_poisson_gaps_have_the_mean_and_the_spread_of_their_rate() -> None:
    offsets = poisson_offsets_ns(20_000, rate_per_s=50.0, seed=7)
    gaps = [(b - a) / 1e9 for a, b in itertools.pairwise(offsets)]

    # exponential: mean = standard deviation = 1/50 s; with 20,000 gaps the mean is within 3% (4 sigma)
    assert statistics.mean(gaps) == pytest.approx(0.02, rel=0.03)
    assert statistics.stdev(gaps) == pytest.approx(0.02, rel=0.05)
    assert offsets == sorted(offsets)


def test_seeds_give_different_arrivals_and_a_seed_gives_the_same_again() -> None:
    one = poisson_offsets_ns(5, rate_per_s=1.0, seed=1)

    assert one == poisson_offsets_ns(5, rate_per_s=1.0, seed=1)
    assert one != poisson_offsets_ns(5, rate_per_s=1.0, seed=2)


def test_no_requests_have_no_arrivals() -> None:
    assert closed_slots(0, concurrency=2) == []
    assert constant_offsets_ns(0, rate_per_s=1.0) == []
    assert poisson_offsets_ns(0, rate_per_s=1.0, seed=0) == []


@pytest.mark.forbids
@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_not_above_zero_is_refused(rate: float) -> None:
    with pytest.raises(Refused, match=r"load\.rate_per_s"):
        constant_offsets_ns(1, rate_per_s=rate)
    with pytest.raises(Refused, match=r"load\.rate_per_s"):
        poisson_offsets_ns(1, rate_per_s=rate, seed=0)


@pytest.mark.forbids
@pytest.mark.parametrize("concurrency", [0, -2])
def test_a_concurrency_below_one_is_refused(concurrency: int) -> None:
    with pytest.raises(Refused, match=r"load\.concurrency"):
        closed_slots(1, concurrency=concurrency)
