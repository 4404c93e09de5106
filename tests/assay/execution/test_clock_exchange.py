"""What round trips say of another clock: an interval that holds the truth, and never more than they can."""

from hypothesis import given
from hypothesis import strategies as st

from assay.execution.clock_exchange import Round, clock_of, exchange_of
from runners.protocol import distant

FACTS = {"domain": "d", "host": "h", "boot_id": "b", "time_namespace": "t"}


def one(*, there_ns: int, stay_ns: int, back_ns: int, ahead_ns: int, sent_ns: int = 0) -> Round:
    """A round whose ways took so long, to a clock that is so much ahead."""
    got_ns = sent_ns + there_ns
    return Round(
        sent_ns=sent_ns,
        got_ns=got_ns + ahead_ns,
        put_ns=got_ns + stay_ns + ahead_ns,
        back_ns=got_ns + stay_ns + back_ns,
    )


def test_a_round_bounds_the_offset_by_the_time_its_ways_took() -> None:
    # 3 ns there, 5 ns back, 1,000 ahead: got - sent = 1,003, put - back = 1,000 - 5 = 995
    found = exchange_of([one(there_ns=3, stay_ns=40, back_ns=5, ahead_ns=1000)], when="barrier")

    assert (found["low_ns"], found["high_ns"]) == (995, 1003)
    assert (found["rounds"], found["at_ns"]) == (1, 48)


def test_the_closest_bounds_of_several_rounds_hold() -> None:
    slow_there = one(there_ns=90, stay_ns=1, back_ns=2, ahead_ns=-500)
    slow_back = one(there_ns=4, stay_ns=1, back_ns=80, ahead_ns=-500)

    found = exchange_of([slow_there, slow_back], when="end")

    # -500 - 2 from the first, -500 + 4 from the second
    assert (found["low_ns"], found["high_ns"]) == (-502, -496)


def test_a_clock_that_drifts_is_known_to_what_holds_at_every_exchange() -> None:
    before = exchange_of([one(there_ns=2, stay_ns=0, back_ns=2, ahead_ns=100)], when="barrier")
    after = exchange_of([one(there_ns=2, stay_ns=0, back_ns=2, ahead_ns=130)], when="end")

    clock = clock_of(FACTS, [before, after])

    # 98..102, then 128..132: from the lowest to the highest, so 115 give or take 17
    assert (clock["low_ns"], clock["high_ns"]) == (98, 132)
    assert (distant.offset_ns(clock), distant.error_ns(clock)) == (115, 17)


@given(
    ahead_ns=st.integers(-(10**18), 10**18),
    ways=st.lists(
        st.tuples(*[st.integers(0, 10**9)] * 3),
        min_size=1,
        max_size=8,
    ),
)
def test_the_interval_always_holds_the_truth(
    ahead_ns: int, ways: list[tuple[int, int, int]]
) -> None:
    rounds = [
        one(there_ns=there, stay_ns=stay, back_ns=back, ahead_ns=ahead_ns, sent_ns=number * 10**10)
        for number, (there, stay, back) in enumerate(ways)
    ]

    clock = clock_of(FACTS, [exchange_of(rounds, when="barrier")])

    assert clock["low_ns"] <= ahead_ns <= clock["high_ns"]
    assert abs(distant.offset_ns(clock) - ahead_ns) <= distant.error_ns(clock)
