"""Percentiles by a named rule, intervals that say what they are."""

from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.percentiles import (
    mean_interval,
    percentile,
    percentile_interval,
    rank_of,
    samples_needed,
)


def test_nearest_rank_is_an_observed_value() -> None:
    ordered = [float(v) for v in range(1, 101)]

    assert percentile(ordered, 0.99) == 99
    assert percentile(ordered, 0.50) == 50
    assert percentile([1.0, 2.0, 3.0], 0.50) == 2


def test_a_rank_is_not_shifted_by_binary_fractions() -> None:
    assert rank_of(0.95, 20) == 19  # 0.95 x 20 is 19.000000000000004 unrounded below it
    assert rank_of(0.07, 100) == 7  # 0.07 x 100 is 7.000000000000001


def test_a_percentile_needs_a_sample_beyond_it() -> None:
    assert [samples_needed(q) for q in (0.5, 0.95, 0.99)] == [2, 20, 100]


def test_the_interval_of_a_median_by_order_statistics() -> None:
    # Binomial(20, 0.5): P(B < 6) = 0.0207 <= 0.025 < P(B < 7), so X_(6) and X_(15) cover 95.9 %.
    found = percentile_interval([float(v) for v in range(1, 21)], 0.5)

    assert found is not None
    assert (found.low, found.high) == (6, 15)
    assert "within this start" in found.kind


def test_too_few_samples_have_no_interval() -> None:
    assert percentile_interval([1.0, 2.0], 0.5) is None
    assert percentile_interval([float(v) for v in range(100)], 0.99) is None
    assert mean_interval([1.0] * 7, seed=1) is None


def test_the_bootstrap_is_seeded() -> None:
    samples = [float((7 * i) % 13) for i in range(60)]

    assert mean_interval(samples, seed=1) == mean_interval(samples, seed=1)
    assert mean_interval(samples, seed=1) != mean_interval(samples, seed=2)


def test_blocks_widen_the_interval_of_samples_that_hang_together() -> None:
    mixed = [float(i % 2) for i in range(64)]
    in_runs = [0.0] * 32 + [1.0] * 32

    narrow, wide = mean_interval(mixed, seed=1), mean_interval(in_runs, seed=1)

    assert narrow is not None
    assert wide is not None
    assert wide.high - wide.low > narrow.high - narrow.low


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_enough_samples_lie_at_or_below_a_percentile(samples: list[float], q: float) -> None:
    ordered = sorted(samples)

    value = percentile(ordered, q)

    assert value in samples
    assert sum(s <= value for s in samples) >= q * len(samples) - 1e-6


@given(st.lists(st.floats(-1e3, 1e3), min_size=8, max_size=100), st.integers(0, 2**64 - 1))
def test_a_mean_lies_in_or_near_its_interval(samples: list[float], seed: int) -> None:
    found = mean_interval(samples, seed=seed)

    assert found is not None
    assert found.low <= found.high
    assert min(samples) - 1e-6 <= found.low
    assert found.high <= max(samples) + 1e-6
