"""Where a load was steady, and where it was not."""

import pytest

from assay.analysis.absence import Absent
from assay.analysis.steady import (
    OVERLOADED,
    block_means,
    closed_loop_window,
    filling_blocks,
    open_loop_window,
    slots_in_use,
)
from assay.analysis.window import Window
from tests.assay.analysis.queues import S, attempt, closed_loop, open_queue


def overload_rate(*, seeds: int, **queue: float) -> float:
    """In which share of simulated runs the rule says that more is offered than served."""
    runs = [open_loop_window(open_queue(seed=seed, **queue)) for seed in range(seeds)]  # type: ignore[arg-type]
    return sum(isinstance(w, Absent) and w.reason.startswith(OVERLOADED) for w in runs) / seeds


def test_block_means_weigh_each_level_by_its_time() -> None:
    # level 2 for [0, 10), 4 for [10, 15), 0 after: [0, 10) has mean 2, [10, 20) (5 * 4 + 5 * 0) / 10 = 2
    steps = [(0, 2), (10, 4), (15, 0)]

    assert block_means(steps, 0, 20, blocks=2) == [2.0, 2.0]
    assert block_means(steps, 5, 15, blocks=1) == [3.0]


def test_the_filling_is_cut_where_the_rest_is_known_best() -> None:
    # 0, 2, 4 lead up to a level of 5 that stays: leaving out three blocks leaves no spread at all
    assert filling_blocks([0, 2, 4, 5, 5, 5, 5, 5]) == 3
    assert filling_blocks([5.0] * 8) == 0
    assert filling_blocks([0, 0, 0, 0, 0, 0, 9, 9]) <= 4  # never more than half


@pytest.mark.parametrize(("load", "servers"), [(0.5, 4), (0.8, 4), (0.8, 32), (0.9, 32)])
def test_a_load_that_is_served_is_rarely_called_overloaded(load: float, servers: int) -> None:
    rate = overload_rate(seeds=60, arrivals=400, load=load, servers=servers)

    # with these seeds 0, 0, 0 and 1 of 60; with 200 others 0, 1, 3 and 18: at 90 % it may be one in ten
    assert rate <= 0.1


@pytest.mark.parametrize("servers", [4, 32])
def test_a_load_above_capacity_is_found(servers: int) -> None:
    found = {
        load: overload_rate(seeds=40, arrivals=600, load=load, servers=servers)
        for load in (1.25, 1.5, 2.0)
    }

    # the backlog grows by 1 - 1/load of the arrivals: 20 %, 33 %, 50 %. With these seeds 38 and 37 of 40 at
    # 1.25 (4 and 32 servers), all above; with 200 others 188 and 191, then 199 and 199, then all
    assert found[1.25] >= 0.75
    assert found[1.5] >= 0.95
    assert found[2.0] >= 0.95


def test_an_overload_has_no_window_and_says_so() -> None:
    window = open_loop_window(open_queue(seed=1, arrivals=600, load=2.0, servers=4))

    assert isinstance(window, Absent)
    assert window.reason.startswith("no steady state: offered rate above capacity")


def test_a_served_load_reaches_from_the_end_of_its_filling_to_its_last_arrival() -> None:
    queue = open_queue(seed=3, arrivals=600, load=0.7, servers=16)
    last = max(a.scheduled_ns or 0 for a in queue)

    window = open_loop_window(queue)

    assert isinstance(window, Window)
    assert window.from_ns > (queue[0].scheduled_ns or 0)  # the first seconds fill sixteen servers
    assert window.to_ns == last
    assert "without a trend" in window.chosen


def test_a_short_run_keeps_its_figures_and_claims_nothing() -> None:
    queue = open_queue(seed=1, arrivals=30, load=0.5, servers=4)

    window = open_loop_window(queue)

    assert isinstance(window, Window)
    assert window.chosen.endswith("too short to tell whether the load was steady")
    assert isinstance(open_loop_window(queue[:1]), Absent)


@pytest.mark.parametrize("servers", [4, 32])
def test_short_served_runs_are_rarely_called_overloaded(servers: int) -> None:
    rate = overload_rate(seeds=60, arrivals=60, load=0.8, servers=servers)

    # with these seeds 0 and 9 of 60; with 200 others 1 and 14
    assert rate <= 0.2


def test_a_closed_loop_is_steady_while_it_holds_its_slots() -> None:
    window = closed_loop_window(closed_loop(seed=1, slots=8, each=20), 8)

    assert isinstance(window, Window)
    assert window.from_ns == 0
    assert window.chosen == "in flight at or above 95% of 8"


def test_with_think_time_a_slot_counts_while_it_thinks() -> None:
    # One slot: in flight [0, 1) and [3, 4), thinking between; the second one is its last.
    thinking = [
        attempt(1, 0.0, 1.0, scheduled=False),
        attempt(2, 3.0, 4.0, scheduled=False),
    ]

    assert slots_in_use(thinking, 1) == [(0, 1), (1 * S, 1), (3 * S, 1), (4 * S, 0)]
    window = closed_loop_window(thinking, 1, thinks=True)
    assert isinstance(window, Window)
    assert (window.from_ns, window.to_ns) == (0, 4 * S)


def test_a_thinking_loop_is_steady_by_slots_where_it_is_not_by_what_is_in_flight() -> None:
    # thinking three times as long as waiting: of 8 slots about 2 are in flight, but all are in use
    loop = closed_loop(seed=2, slots=8, each=20, think_s=3.0)

    assert isinstance(closed_loop_window(loop, 8, thinks=True), Window)
    by_flight = closed_loop_window(loop, 8)
    assert isinstance(by_flight, Absent) or by_flight.length_s < 2.0


def test_a_stage_is_searched_alone() -> None:
    # one in flight in [0, 10), three in [10, 20)
    stages = [attempt(0, 0, 20, scheduled=False)]
    stages += [attempt(n, 10, 20, scheduled=False) for n in (1, 2)]

    first = closed_loop_window(stages, 1, within=(0, 10 * S))
    second = closed_loop_window(stages, 3, within=(10 * S, 20 * S))

    assert isinstance(first, Window)
    assert isinstance(second, Window)
    assert (first.from_ns, first.to_ns) == (0, 10 * S)
    assert (second.from_ns, second.to_ns) == (10 * S, 20 * S)
    assert isinstance(closed_loop_window(stages, 3, within=(0, 10 * S)), Absent)
