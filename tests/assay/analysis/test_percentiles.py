"""Percentiles by a named rule, intervals that say what they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.clusters import held
from assay.analysis.percentiles import (
    clustered_mean_interval,
    clustered_percentile_interval,
    mean_interval,
    percentile,
    percentile_interval,
    rank_of,
    samples_needed,
    share_interval,
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


def test_woodruff_s_interval_by_hand() -> None:
    # Ten requests of two equal gaps: 1 1, 2 2, ..., 10 10. N = 20, the median is rank 10 = 5; k = 10.
    # k_i - n_i k / N is +1 for five requests and -1 for five: s^2 = 10 / 9 * 10 / 400 = 1 / 36, s = 1 / 6.
    # t(9 degrees, 97.5 %) = 2.2622, ranks 20 (0.5 -+ 0.37703): 2.46 -> rank 3 = 2, 17.54 -> 18 = 9.
    samples = [float(i) for i in range(1, 11) for _ in range(2)]

    found = clustered_percentile_interval(held(samples, [2] * 10), 0.5)

    assert found is not None
    assert (found.low, found.high) == (2, 9)
    assert "clusters are requests, within this start" in found.kind


def test_gaps_that_hang_together_are_not_many_samples() -> None:
    # The same twenty numbers as samples of their own claim to know the median about twice as well.
    samples = [float(i) for i in range(1, 11) for _ in range(2)]

    alone = percentile_interval(samples, 0.5)

    assert alone is not None
    assert (alone.low, alone.high) == (3, 8)


def test_the_interval_of_clustered_samples_holds_its_level_where_the_plain_one_does_not() -> None:
    # Sixty requests of 32 gaps, each request shifted by a normal draw of its own; the true median is 0.
    random = np.random.default_rng(7)
    missed = {"clustered": 0, "plain": 0}
    for _ in range(200):
        drawn = random.normal(0, 1, (60, 1)) + random.normal(0, 1, (60, 32))
        samples = drawn.ravel().tolist()
        clustered = clustered_percentile_interval(held(samples, [32] * 60), 0.5)
        plain = percentile_interval(sorted(samples), 0.5)
        assert clustered is not None
        assert plain is not None
        missed["clustered"] += not clustered.low <= 0 <= clustered.high
        missed["plain"] += not plain.low <= 0 <= plain.high

    # 5 % of 200 are 10; twice as many lie beyond three standard deviations.
    assert missed["clustered"] <= 20
    assert missed["plain"] >= 60


def test_clusters_are_requests_that_gave_samples() -> None:
    assert clustered_percentile_interval(held([1.0] * 14, [2] * 7), 0.5) is None
    assert clustered_mean_interval(held([1.0] * 14, [2] * 7), seed=1) is None
    assert clustered_percentile_interval(held([1.0] * 800, [100] * 8), 0.999) is None
    with_empty = clustered_mean_interval(held([3.0] * 16, [2, 0] * 8), seed=1)
    assert with_empty is not None
    assert (with_empty.low, with_empty.high) == (3.0, 3.0)


def test_the_clustered_mean_is_seeded_and_wider_than_that_of_single_samples() -> None:
    samples = [float(i % 10) for i in range(40) for _ in range(25)]

    clustered = clustered_mean_interval(held(samples, [25] * 40), seed=1)
    plain = mean_interval(samples, seed=1)

    assert clustered == clustered_mean_interval(held(samples, [25] * 40), seed=1)
    assert clustered is not None
    assert plain is not None
    assert clustered.high - clustered.low > plain.high - plain.low


def test_wilson_s_interval_of_a_share_by_hand() -> None:
    # z = 1.95996, z^2 = 3.84146, 9 of 10: middle = (0.9 + 3.84146 / 20) / 1.384146 = 0.788991;
    # half = 1.95996 / 1.384146 * sqrt(0.9 * 0.1 / 10 + 3.84146 / 400) = 1.416007 * 0.136395 = 0.193136.
    found = share_interval(9, 10)

    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.595855, 0.982127), abs=1e-4)
    assert found.kind == "95% Wilson, within this start"


def test_a_share_of_nothing_or_of_none_is_still_uncertain() -> None:
    assert share_interval(0, 0) is None
    none = share_interval(0, 10)
    assert none is not None
    assert none.low == 0
    assert none.high == pytest.approx(0.2775, abs=1e-4)
