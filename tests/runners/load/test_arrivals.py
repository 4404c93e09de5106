"""When requests leave is a pure function of the declaration."""

import itertools
import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.load.arrivals import (
    burst_offsets_ns,
    closed_slots,
    constant_offsets_ns,
    gamma_offsets_ns,
    poisson_offsets_ns,
    ramp_arrivals,
    staged_arrivals,
)
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


# Gamma gaps


def gaps_s(offsets_ns: list[int]) -> list[float]:
    return [(b - a) / 1e9 for a, b in itertools.pairwise([0, *offsets_ns])]


@pytest.mark.parametrize("burstiness", [0.1, 0.25, 0.5, 2.0, 4.0])
def test_gamma_gaps_have_the_mean_of_their_rate_and_the_spread_of_their_burstiness(
    burstiness: float,
) -> None:
    gaps = gaps_s(gamma_offsets_ns(40_000, rate_per_s=50.0, burstiness=burstiness, seed=7))

    # mean 1/50 s, cv = burstiness ** -0.5: 3.16, 2, 1.41, 0.71, 0.5. The error of the mean of 40,000 is
    # cv / 200, at most 1.6 %: 7 % are more than four of it; that of the cv is larger for bursty gaps.
    mean = statistics.mean(gaps)
    assert mean == pytest.approx(0.02, rel=0.07)
    assert statistics.stdev(gaps) / mean == pytest.approx(burstiness**-0.5, rel=0.08)


def test_a_burstiness_of_one_is_the_poisson_process_draw_for_draw() -> None:
    assert gamma_offsets_ns(50, rate_per_s=3.0, burstiness=1.0, seed=4) == poisson_offsets_ns(
        50, rate_per_s=3.0, seed=4
    )


@pytest.mark.parametrize("burstiness", [0.999, 1.001])
def test_near_one_the_gaps_are_those_of_a_poisson_process_in_distribution(
    burstiness: float,
) -> None:
    gaps = sorted(gaps_s(gamma_offsets_ns(20_000, rate_per_s=1.0, burstiness=burstiness, seed=2)))

    # exponential quantiles: -ln(1 - q); the largest distance of 20,000 draws is below 1.95 / sqrt(n) = 1.4 %
    # in 999 of 1000 samples (Kolmogorov), and the shape itself is off by 0.1 %
    worst = max(abs((i + 0.5) / len(gaps) - (1 - math.exp(-gap))) for i, gap in enumerate(gaps))
    assert worst < 0.016


def test_a_burst_is_everything_at_once() -> None:
    assert burst_offsets_ns(3) == [0, 0, 0]


# Ramps and stages


def ramp(a: float, b: float, duration_s: float, spacing: str = "even") -> dict[str, Any]:
    return {
        "from_rate_per_s": a,
        "to_rate_per_s": b,
        "duration_s": duration_s,
        "spacing": spacing,
    }


def test_a_ramp_follows_the_integral_of_its_rate() -> None:
    # from 0 to 2 a second in 4 s: N(t) = t^2 / 4, so request i leaves at 2 sqrt(i): 0, 2, 2.828, 3.464; the
    # one at N = 4 would leave at the end itself
    found = ramp_arrivals(ramp(0.0, 2.0, 4.0), seed=1)

    assert found.offsets_ns == (0, 2_000_000_000, 2_828_427_125, 3_464_101_615)
    assert found.spans_ns == ((0, 4_000_000_000),)


def test_a_ramp_down_ends_at_its_lower_rate() -> None:
    # from 2 to 0 in 4 s is the mirror image: N(t) = 2t - t^2/4 = i at t = 4 - 2 sqrt(4 - i)
    found = ramp_arrivals(ramp(2.0, 0.0, 4.0), seed=1)

    assert found.offsets_ns == tuple(round((4 - 2 * math.sqrt(4 - i)) * 1e9) for i in range(4))


def test_a_level_ramp_is_a_constant_rate() -> None:
    # 0.1 a second for 30 s are 3 requests, though 0.1 * 30 is above 3 as a float
    assert ramp_arrivals(ramp(0.1, 0.1, 30.0), seed=1).offsets_ns == tuple(
        constant_offsets_ns(3, rate_per_s=0.1)
    )


rates = st.floats(min_value=0.0, max_value=50.0).map(lambda r: round(r, 3))


@given(a=rates, b=rates, seconds=st.integers(1, 20), spacing=st.sampled_from(["even", "poisson"]))
def test_any_ramp_is_in_order_inside_its_span_and_as_many_as_its_integral(
    a: float, b: float, seconds: int, spacing: str
) -> None:
    if a == b == 0:
        return

    found = ramp_arrivals(ramp(a, b, float(seconds), spacing), seed=3)

    offsets = found.offsets_ns
    assert list(offsets) == sorted(offsets)
    assert all(0 <= at < seconds * 10**9 for at in offsets)
    expected = (a + b) / 2 * seconds
    # evenly: one for each whole number below the integral; Poisson: six sigma
    slack = 1 if spacing == "even" else 6 * math.sqrt(expected) + 6
    assert abs(len(offsets) - expected) <= slack


@given(a=rates, b=rates)
def test_halfway_through_a_ramp_the_integral_is_that_of_its_first_half(a: float, b: float) -> None:
    if a == b == 0:
        return

    offsets = ramp_arrivals(ramp(a, b, 10.0), seed=1).offsets_ns

    # N(5) = 5a + (b - a) 25 / 20
    first_half = sum(at < 5 * 10**9 for at in offsets)
    assert abs(first_half - (5 * a + (b - a) * 1.25)) <= 1.001


def stage(rate: float, spacing: str = "even", **bound: Any) -> dict[str, Any]:
    return {"rate_per_s": rate, "duration_s": None, "requests": None, "spacing": spacing, **bound}


def test_stages_follow_each_other_at_their_own_rates() -> None:
    found = staged_arrivals(
        [stage(2.0, duration_s=1.0), stage(0.0, duration_s=0.5), stage(4.0, requests=3)], seed=1
    )

    # 2 a second for 1 s: 0, 0.5; a pause to 1.5; then 3 requests every 0.25 s, 0.75 s long
    assert [at / 1e9 for at in found.offsets_ns] == [0, 0.5, 1.5, 1.75, 2.0]
    assert [(a / 1e9, b / 1e9) for a, b in found.spans_ns] == [(0, 1.0), (1.0, 1.5), (1.5, 2.25)]


@given(
    st.lists(
        st.builds(
            stage,
            st.floats(0.5, 50.0).map(lambda r: round(r, 2)),
            st.sampled_from(["even", "poisson"]),
            requests=st.integers(1, 30),
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 2**31),
)
def test_any_stages_send_what_they_declare_in_order_each_inside_its_span(
    stages: list[dict[str, Any]], seed: int
) -> None:
    found = staged_arrivals(stages, seed=seed)

    assert list(found.offsets_ns) == sorted(found.offsets_ns)
    assert [b for _, b in found.spans_ns[:-1]] == [a for a, _ in found.spans_ns[1:]]
    left = list(found.offsets_ns)
    for declared, (from_ns, to_ns) in zip(stages, found.spans_ns, strict=True):
        own, left = left[: declared["requests"]], left[declared["requests"] :]
        assert all(from_ns <= at < to_ns for at in own)
    assert not left
    assert found == staged_arrivals(stages, seed=seed)
