"""Little's law as a check of a window."""

import pytest

from assay.analysis.absence import Absent
from assay.analysis.littles_law import LittlesLaw, littles_law, littles_law_document
from assay.analysis.window import Window
from tests.assay.analysis.queues import S, attempt, closed_loop, open_queue


def window(from_s: float, to_s: float) -> Window:
    return Window(from_ns=round(from_s * S), to_ns=round(to_s * S), chosen="by hand")


def test_both_sides_are_worked_by_hand() -> None:
    # In [0, 10): one in flight in [0, 4), two in [4, 6), one in [6, 8): (4 + 4 + 2) / 10 = 1.0.
    # Ended there: 6 s and 4 s, so the rate 2 / 10 times the mean of 5 s is 1.0.
    law = littles_law([attempt(1, 0, 6), attempt(2, 4, 8)], window(0, 10))

    assert isinstance(law, LittlesLaw)
    assert (law.in_flight, law.rate_times_latency) == (1.0, 1.0)
    assert law.relative_difference == 0
    assert law.holds


@pytest.mark.parametrize("seed", range(5))
def test_it_holds_in_the_middle_of_a_served_load(seed: int) -> None:
    closed = littles_law(closed_loop(seed=seed, slots=8, each=60), window(5, 40))
    served = littles_law(open_queue(seed=seed, arrivals=600, load=0.7, servers=4), window(20, 180))

    for law in (closed, served):
        assert isinstance(law, LittlesLaw)
        assert law.holds, law.sentence()


def test_it_fails_and_says_so_where_the_backlog_grows() -> None:
    # 2 arrive a second, 1 is served: about 50 are open at 50 s and 250 at 250 s, 150 in the mean; the 200
    # that ended had waited 25 to 125 s: 1 a second times 75 s. Half of it is missing, a third allowed.
    queue = open_queue(seed=1, arrivals=600, load=2.0, servers=1)

    law = littles_law(queue, window(50, 250))

    assert isinstance(law, LittlesLaw)
    assert law.rate_times_latency < law.in_flight
    assert not law.holds, law.sentence()


def test_an_attempt_with_wrong_instants_shows() -> None:
    steady = [attempt(n, n, n + 2.0) for n in range(100)]
    # the same attempts, but twenty of them were left open: in flight and never ended
    broken = [attempt(a, a, None if 40 <= a < 60 else a + 2.0) for a in range(100)]

    good, bad = littles_law(steady, window(10, 90)), littles_law(broken, window(10, 60))

    assert isinstance(good, LittlesLaw)
    assert good.holds
    assert isinstance(bad, LittlesLaw)
    # rate times latency: 30 ended or so in 50 s, 2 s each, about 1.2; in flight: 2, then up to 20
    assert bad.relative_difference > 0.5
    assert "does not hold" in bad.sentence()


def test_without_an_end_there_is_nothing_to_check() -> None:
    law = littles_law([attempt(1, 0, None)], window(0, 10))

    assert isinstance(law, Absent)
    assert littles_law_document(law) == {"holds": None, "absent": "no attempt ended in the window"}
