"""One report of several client processes: sums are sums, and no error is averaged away."""

from dataclasses import fields
from typing import Any

from runners.load.lags import LagSeries
from runners.load.limits import StopReason
from runners.load.merging import RULES, merged
from runners.load.pace import StageSpan
from runners.load.report import DriveReport


def lags(*values: int) -> Any:
    series = LagSeries("late")
    for value in values:
        series.add(value)
    return series.summary()


def report(**more: Any) -> DriveReport:
    given: dict[str, Any] = {
        "segment": "load",
        "offered": 10,
        "created": 9,
        "not_created": 1,
        "attempts": 9,
        "ends": {"closed": 8},
        "unfinalised": 1,
        "stop_reason": StopReason.plan_done,
        "stop_seen": None,
        "stages": (),
        "origin_ns": 100,
        "first_sent_ns": 110,
        "last_sent_ns": 200,
        "drain_start_ns": 150,
        "ended_ns": 300,
        "client_limited": False,
        "client_limits": (),
        "loop_lag": lags(1, 3),
        "send_lag": lags(10),
    }
    return DriveReport(**{**given, **more})


def test_every_field_of_a_report_has_a_rule() -> None:
    stated = {f.name for f in fields(DriveReport)} - {"client_limits", "workers"}

    assert set(RULES) == stated


def test_counts_are_added_and_times_span_both() -> None:
    both = merged(
        [report(), report(first_sent_ns=105, ended_ns=400, ends={"closed": 5, "error": 4})],
        workers=[1, 2],
    )

    assert (both.offered, both.created, both.not_created, both.unfinalised) == (20, 18, 2, 2)
    assert both.ends == {"closed": 13, "error": 4}
    assert (both.first_sent_ns, both.last_sent_ns, both.ended_ns) == (105, 200, 400)


def test_the_merged_lag_is_the_larger_of_each_quantile() -> None:
    # means: (1 + 3) / 2 = 2 over 2, 8 over 1; together (1 + 3 + 8) / 3 = 4
    both = merged([report(), report(loop_lag=lags(8))], workers=[1, 2])

    assert both.loop_lag["n"] == 3
    assert both.loop_lag["mean_ns"] == 4
    assert both.loop_lag["max_ns"] == 8
    assert both.loop_lag["p50_ns"] == 8  # of 1, 3, 8 it would be 3: never less than one of them had
    assert "largest" in both.loop_lag["rule"]


def test_one_late_process_limits_the_whole_and_is_named() -> None:
    late = report(client_limited=True, client_limits=("3 of 9 sends left late",))

    both = merged([report(), late], workers=[1, 2])

    assert both.client_limited
    assert both.client_limits == ("process 2: 3 of 9 sends left late",)
    assert [w["worker"] for w in both.client_error["workers"]] == [1, 2]


def test_the_plan_is_done_only_if_every_process_is_done() -> None:
    expired = report(stop_reason=StopReason.drain_expired)
    full = report(stop_reason=StopReason.capture_ended)

    assert merged([report(), expired], workers=[1, 2]).stop_reason is StopReason.drain_expired
    assert merged([expired, full], workers=[1, 2]).stop_reason is StopReason.capture_ended


def test_a_stage_holds_the_slots_of_all_processes_that_entered_it() -> None:
    first = (
        StageSpan(from_ns=100, to_ns=200, concurrency=2),
        StageSpan(from_ns=200, to_ns=290, concurrency=3),
    )
    second = (StageSpan(from_ns=100, to_ns=180, concurrency=1),)  # it had nothing left to send
    said = "the last of 2 stages was over"

    both = merged(
        [report(stages=first, stop_seen=said), report(stages=second, stop_seen=said)],
        workers=[1, 2],
    )

    assert both.stages == (
        StageSpan(from_ns=100, to_ns=200, concurrency=3),
        StageSpan(from_ns=200, to_ns=290, concurrency=3),
    )
    assert both.stop_seen == said


def test_a_stage_of_a_rate_has_no_slots() -> None:
    span = StageSpan(from_ns=100, to_ns=200, concurrency=None)

    assert merged([report(stages=(span,)), report(stages=(span,))], workers=[1, 2]).stages == (
        span,
    )
