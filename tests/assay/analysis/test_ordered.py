"""Ranks of samples that are never held together are the ranks of the sorted whole."""

import math

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.analysis.clusters import Clusters, held
from assay.analysis.ordered import Ordered
from assay.analysis.percentiles import clustered_mean_interval, clustered_percentile_interval

_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_BLOCKS = st.lists(st.lists(_NUMBERS, max_size=30), max_size=6)


@given(_BLOCKS)
@settings(deadline=None)
@example([[5e-324, -5e-324], [1.7976931348623157e308, -1.7976931348623157e308]])
@example([[2.0, 2.0], [2.0], [1.0, 3.0]])
def test_every_rank_is_that_of_the_sorted_whole(blocks: list[list[float]]) -> None:
    whole = sorted(value for block in blocks for value in block)

    ordered = Ordered(np.array(block, dtype=np.float64) for block in blocks)

    assert len(ordered) == len(whole)
    assert [ordered[at] for at in range(len(whole))] == whole
    assert [ordered[-at] for at in range(1, len(whole) + 1)] == whole[::-1]


def test_a_rank_is_found_between_the_marks_of_long_runs() -> None:
    # Two runs of 5,000: even and odd numbers below 10,000. The number at place n is n.
    runs = [np.arange(0.0, 10_000, 2), np.arange(1.0, 10_000, 2)]

    ordered = Ordered(runs)

    assert [ordered[at] for at in (0, 1, 1023, 1024, 4999, 9999)] == [0, 1, 1023, 1024, 4999, 9999]


def test_both_zeros_are_one_number() -> None:
    ordered = Ordered([np.array([-0.0]), np.array([0.0])])

    assert [math.copysign(1, ordered[at]) for at in (0, 1)] == [1, 1]


@given(
    st.lists(st.lists(st.floats(-1e3, 1e3), max_size=5), min_size=8, max_size=40),
    st.integers(1, 7),
)
@settings(deadline=None)
def test_clusters_read_in_blocks_have_the_intervals_of_those_held(
    requests: list[list[float]], at_a_time: int
) -> None:
    counts = [len(own) for own in requests]
    cut = [requests[i : i + at_a_time] for i in range(0, len(requests), at_a_time)]
    blocks = [np.array([v for own in part for v in own], dtype=np.float64) for part in cut]

    in_blocks = Clusters(lambda: blocks, counts)
    together = held([v for own in requests for v in own], counts)

    assert clustered_mean_interval(in_blocks, seed=1) == clustered_mean_interval(together, seed=1)
    for q in (0.5, 0.9):
        assert clustered_percentile_interval(in_blocks, q) == clustered_percentile_interval(
            together, q
        )
    if len(together):
        assert in_blocks.mean() == together.mean()


def test_what_is_not_finite_is_no_rank() -> None:
    clusters = held([1.0, math.inf, 3.0, math.nan], [2, 2])

    assert (len(clusters), len(clusters.ordered), clusters.all_finite) == (4, 2, False)
    assert clusters.mean() == 2.0
