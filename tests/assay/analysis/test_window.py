"""The span over which rates are taken."""

from typing import Any

import pytest

from assay.analysis.absence import Absent
from assay.analysis.steady import closed_loop_window, open_loop_window
from assay.analysis.window import Window, across_clocks, rate_interval, whole_window
from tests.assay.analysis.streams import MS, attempts, row


def spans(*pairs: tuple[float, float]) -> Any:
    rows = []
    for i, (start, end) in enumerate(pairs):
        rows += [row("sent", start, f"a{i}"), row("timeout", end, f"a{i}")]
    return attempts(*rows)


def test_a_closed_loop_is_steady_while_enough_is_in_flight() -> None:
    # Two in flight from 10 to 40, with an instant of one at 20 to 21; one only before and after.
    window = closed_loop_window(spans((0, 20), (10, 50), (21, 40)), 2)

    assert isinstance(window, Window)
    assert (window.from_ns, window.to_ns) == (10 * MS, 40 * MS)


def test_a_loop_that_never_fills_has_no_steady_part() -> None:
    window = closed_loop_window(spans((0, 20), (20, 40)), 2)

    assert isinstance(window, Absent)


def test_an_open_loop_reaches_from_its_first_to_its_last_arrival() -> None:
    rows = [row("scheduled", t, f"a{t}") for t in (5, 15, 30)]

    window = open_loop_window(attempts(*rows))

    assert isinstance(window, Window)
    assert (window.from_ns, window.to_ns) == (5 * MS, 30 * MS)
    assert isinstance(open_loop_window(attempts(rows[0])), Absent)


def test_the_whole_span_holds_the_last_arrival() -> None:
    window = whole_window(spans((0, 20), (10, 50)))

    assert isinstance(window, Window)
    assert window.holds(50 * MS)
    assert not window.holds(50 * MS + 1)
    assert isinstance(whole_window(attempts(row("created", 0))), Absent)


def test_a_window_across_clocks_is_as_long_as_both_edges_allow() -> None:
    window = across_clocks(Window(from_ns=0, to_ns=100, chosen="all"), 5)

    assert isinstance(window, Window)
    assert (window.length_s, window.error_ns) == (1e-7, 10)
    # 11 in 100 ns: 11 in 110 is 0.1 a ns, 11 in 90 is 0.1222
    found = rate_interval(11 / window.length_s, window)
    assert found is not None
    assert (found.low / 1e9, found.high / 1e9) == (pytest.approx(0.1), pytest.approx(11 / 90))


def test_a_window_no_longer_than_its_bound_is_none() -> None:
    short = Window(from_ns=0, to_ns=10, chosen="all")

    found = across_clocks(short, 5)

    assert isinstance(found, Absent)
    assert found.reason == "several clock domains: their error bound, 10 ns, is no smaller"
    assert across_clocks(short, 0) is short
    assert rate_interval(1.0, short) is None
