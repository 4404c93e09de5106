"""Which window each kind of load gets."""

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope
from assay.analysis.load_windows import LoadShape, Stage, load_windows
from assay.analysis.window import Window
from assay.analysis.window_rates import window_document, window_gaps, window_rates
from tests.assay.analysis.queues import S, attempt, closed_loop, open_queue

SCOPE = Scope(
    population="attempts",
    denominator="attempts",
    perspective="client",
    clock_domain="c",
    limited_by="E1",
)


def test_an_overload_has_neither_window_nor_rate_and_is_a_gap() -> None:
    queue = open_queue(seed=1, arrivals=600, load=2.0, servers=4)

    (found,) = load_windows(queue, LoadShape(open_loop=True, kind="poisson"), None)

    assert isinstance(found.window, Absent)
    throughput = next(
        a for a in window_rates(queue, found, SCOPE) if a["rule"] == "throughput.requests"
    )
    assert throughput["value"] is None
    assert throughput["absent"] == found.window.reason
    (gap,) = window_gaps(queue, [found])
    assert gap["what"].startswith("no steady state: offered rate above capacity")
    assert window_document(queue, found)["absent"] == found.window.reason


def test_a_closed_loop_that_never_fills_is_read_whole_and_says_why() -> None:
    lonely = [attempt(1, 0, 5, scheduled=False)]

    (found,) = load_windows(lonely, LoadShape(concurrency=4, kind="closed"), None)

    assert isinstance(found.window, Window)
    assert found.window.chosen == (
        "first send to last end; in flight never held 95% of the declared 4"
    )


def test_a_ramp_and_a_burst_claim_no_steady_state() -> None:
    queue = open_queue(seed=1, arrivals=200, load=0.5, servers=4)

    for kind in ("ramp", "burst"):
        (found,) = load_windows(queue, LoadShape(open_loop=True, kind=kind), None)
        assert isinstance(found.window, Window)
        assert "no steady state is claimed" in found.window.chosen


def test_each_stage_has_a_window_of_its_own() -> None:
    # one slot for 10 s, then four from 10 s on, as a closed loop would do
    first = closed_loop(seed=1, slots=1, each=10)
    ends = max(a.decided_ns or 0 for a in first)
    second = closed_loop(seed=2, slots=4, each=10, start_s=ends / S)
    shape = LoadShape(
        kind="staged",
        stages=(
            Stage(from_ns=0, to_ns=ends, concurrency=1),
            Stage(from_ns=ends, to_ns=ends + 5 * S, concurrency=4),
        ),
    )

    whole, one, four = load_windows([*first, *second], shape, None)

    assert (whole.stage, one.stage, four.stage) == (
        "all stages",
        "stage 1 (concurrency 1)",
        "stage 2 (concurrency 4)",
    )
    assert isinstance(one.window, Window)
    assert isinstance(four.window, Window)
    assert (one.window.from_ns, one.window.to_ns) == (0, ends)
    assert four.window.from_ns == ends
    populations = {a["population"] for a in window_rates([*first, *second], four, SCOPE)}
    assert all("stage 2 (concurrency 4)" in population for population in populations)


def test_a_window_that_was_asked_for_is_the_only_one() -> None:
    asked = Window(from_ns=0, to_ns=5, chosen="asked for")

    (found,) = load_windows([], LoadShape(concurrency=4), asked)

    assert found.window is asked


def test_a_window_shows_littles_law() -> None:
    loop = closed_loop(seed=1, slots=8, each=40)
    (found,) = load_windows(loop, LoadShape(concurrency=8, kind="closed"), None)

    shown = window_document(loop, found)["littles_law"]
    row = next(a for a in window_rates(loop, found, SCOPE) if a["rule"] == "littles_law.difference")

    assert shown["holds"] is True
    assert row["value"] == shown["relative_difference"]
    assert isinstance(found.window, Window)
    assert row["window_ns"] == [found.window.from_ns, found.window.to_ns]
    assert window_gaps(loop, [found]) == []


def test_littles_law_that_fails_is_a_gap() -> None:
    # forty that never end, in flight through a window in which ten others come and go
    stuck = [attempt(n, 0, None, scheduled=False) for n in range(40)]
    passing = [attempt(100 + n, n, n + 1, scheduled=False) for n in range(400)]
    asked = Window(from_ns=0, to_ns=400 * S, chosen="asked for")

    gaps = window_gaps([*stuck, *passing], load_windows([], LoadShape(), asked))

    assert [g["what"][:40] for g in gaps] == ["Little's law does not hold in the window"]
