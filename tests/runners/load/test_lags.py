import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.load.lags import LagSeries
from runners.load.report import client_limits


def series(values: list[int]) -> LagSeries:
    lags = LagSeries("a lag")
    for value in values:
        lags.add(value)
    return lags


def test_quantiles_are_by_nearest_rank() -> None:
    summary = series(list(range(1, 101))).summary()

    # 100 values 1..100: rank ceil(q * 100), so p50 is the 50th value and p99.9 the 100th.
    assert (summary["p50_ns"], summary["p90_ns"], summary["p99_ns"]) == (50, 90, 99)
    assert (summary["p999_ns"], summary["max_ns"]) == (100, 100)
    assert summary["mean_ns"] == 50.5
    assert (summary["n"], summary["rule"], summary["reason"]) == (100, "nearest rank", None)


def test_nothing_observed_is_null_with_a_reason_and_not_zero() -> None:
    summary = series([]).summary()

    assert summary["n"] == 0
    assert summary["mean_ns"] is None
    assert summary["p50_ns"] is None
    assert summary["max_ns"] is None
    assert summary["reason"] == "nothing was observed"


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1))
def test_quantiles_are_values_that_were_seen_and_never_fall(values: list[int]) -> None:
    summary = series(values).summary()

    names = ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")
    found = [int(str(value)) for name, value in summary.items() if name in names]
    assert set(found) <= set(values)
    assert found == sorted(found)
    assert found[-1] == max(values)


def test_a_send_later_than_the_bound_makes_the_client_the_limit() -> None:
    lags = series([0, 10_000_000, 50_000_000, 50_000_001, 80_000_000])

    (sentence,) = client_limits(lags, max_send_lag_s=0.05, own_faults=[])

    assert sentence.startswith("2 of 5 sends left more than load.max_send_lag_s = 0.05 s late")
    assert "worst: 0.080 s" in sentence


def test_connections_that_this_machine_could_not_open_make_the_client_the_limit() -> None:
    (sentence,) = client_limits(
        series([]), max_send_lag_s=0.05, own_faults=["connect: [Errno 24] Too many open files"]
    )

    assert "1 connections failed for want of something on this machine" in sentence
    assert "Too many open files" in sentence


@pytest.mark.parametrize("values", [[], [0, 50_000_000]])
def test_within_the_bound_nothing_is_said(values: list[int]) -> None:
    assert client_limits(series(values), max_send_lag_s=0.05, own_faults=[]) == ()
