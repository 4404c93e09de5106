"""A load worker's report, carried over to the clock of the run."""

from typing import Any

from runners.load.merging import merged
from runners.load.other_clock import on_our_clock
from runners.load.pace import StageSpan
from runners.protocol.distant import DistantClock
from tests.runners.load.test_merging import report


def a_clock(low_ns: int, high_ns: int) -> DistantClock:
    facts: Any = {"domain": "d", "host": "h", "boot_id": "b", "time_namespace": "t"}
    return DistantClock(**facts, low_ns=low_ns, high_ns=high_ns, exchanges=[])


def test_every_time_is_carried_over_and_says_what_it_may_be_off_by() -> None:
    # ahead by 1,000 to 1,009: the middle is 1,004, and no time is off by more than 5
    clock = a_clock(1000, 1009)
    stamped = report(
        stages=(StageSpan(from_ns=2004, to_ns=3004, concurrency=2),),
        origin_ns=2004,
        first_sent_ns=2104,
        last_sent_ns=2904,
        drain_start_ns=None,
        ended_ns=3104,
    )

    ours = on_our_clock(stamped, clock)

    assert ours.stages == (StageSpan(from_ns=1000, to_ns=2000, concurrency=2),)
    assert (ours.origin_ns, ours.first_sent_ns, ours.last_sent_ns) == (1000, 1100, 1900)
    assert (ours.drain_start_ns, ours.ended_ns, ours.times_error_ns) == (None, 2100, 5)
    assert ours.send_lag == stamped.send_lag, "a duration is of one clock"


def test_a_joined_report_is_as_uncertain_as_its_worst_part() -> None:
    ours = report()
    theirs = on_our_clock(report(), a_clock(-3, 3))

    assert merged([ours, ours], workers=[1, 2]).times_error_ns == 0
    assert merged([ours, theirs], workers=[1, 2]).times_error_ns == 3
