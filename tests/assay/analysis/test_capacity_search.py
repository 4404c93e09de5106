"""The search's own rule: what is probed next, when it ends, and what it may not hide."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.capacity_search import Ask, Found, Over, Probe, Rule, Verdict, next_step

M, N, X = Verdict.met, Verdict.not_met, Verdict.invalid


def probes(*pairs: tuple[float, Verdict]) -> list[Probe]:
    return [Probe(value=value, verdict=verdict, reason="as told") for value, verdict in pairs]


def search(judge: Callable[[float, int], Verdict], rule: Rule) -> tuple[list[float], Found]:
    made: list[Probe] = []
    while True:
        step = next_step(made, rule)
        if isinstance(step, Found):
            return [p.value for p in made], step
        made.append(Probe(value=step.value, verdict=judge(step.value, len(made)), reason="as told"))


def test_it_doubles_then_bisects_in_log_space() -> None:
    values, found = search(lambda value, _: M if value <= 6 else N, Rule(start=1, ratio=1.5))

    # 1 2 4 met, 8 not; sqrt(4 * 8) = 5.657 met; 8 / 5.657 = 1.414 is within 1.5
    assert values == pytest.approx([1, 2, 4, 8, math.sqrt(32)])
    assert (found.highest_met, found.lowest_not_met) == (pytest.approx(math.sqrt(32)), 8)
    assert found.converged
    assert found.as_document()["ratio"] == pytest.approx(math.sqrt(2))


def test_it_halves_where_the_start_is_too_much() -> None:
    values, found = search(lambda value, _: M if value <= 3 else N, Rule(start=8, ratio=2))

    assert values == [8, 4, 2]
    assert (found.highest_met, found.lowest_not_met) == (2, 4)


def test_requests_in_flight_are_whole_and_end_at_neighbours() -> None:
    rule = Rule(over=Over.concurrency, start=1, ratio=1.01)

    values, found = search(lambda value, _: M if value <= 2 else N, rule)

    # sqrt(2 * 4) = 2.83, rounded 3: nothing lies between 2 and 3
    assert values == [1, 2, 4, 3]
    assert (found.highest_met, found.lowest_not_met) == (2, 3)
    assert "no value lies between" in found.why


def test_met_up_to_the_limit_says_so_and_claims_no_upper_edge() -> None:
    values, found = search(lambda *_: M, Rule(start=1, limit=3))

    assert values == [1, 2, 3]
    assert (found.highest_met, found.lowest_not_met, found.converged) == (3, None, False)
    assert "limit of 3" in found.why


@pytest.mark.parametrize(("over", "last"), [(Over.rate, 0.5), (Over.concurrency, 1.0)])
def test_not_met_at_the_floor_has_no_lower_edge(over: Over, last: float) -> None:
    values, found = search(lambda *_: N, Rule(over=over, start=2, floor=0.5))

    assert values[-1] == last
    assert (found.highest_met, found.converged) == (None, False)
    assert found.lowest_not_met == last


@pytest.mark.forbids
def test_an_invalid_probe_is_neither_met_nor_not_met() -> None:
    """The client limits the run from 4 on: the search goes below it and claims no missed SLO."""
    _, found = search(lambda value, _: M if value < 4 else X, Rule(start=1, ratio=1.5))

    assert found.highest_met == pytest.approx(math.sqrt(8))
    assert found.lowest_not_met is None
    assert (found.upper, found.upper_verdict) == (4, X)
    assert not found.converged
    assert any("invalid probe" in remark for remark in found.remarks)


@pytest.mark.forbids
def test_outcomes_that_are_not_monotone_are_said() -> None:
    found = next_step(probes((4, N), (2, M), (8, M), (2.9, N)), Rule(ratio=1.5))

    assert isinstance(found, Found)
    assert (found.highest_met, found.lowest_not_met) == (2, 2.9)
    assert found.remarks == ("not monotone: met at 8, above 2.9 which is not met",)


def test_both_edges_are_probed_as_often_as_declared() -> None:
    values, found = search(
        lambda value, _: M if value < 2 else N, Rule(start=1, ratio=2, repeats=2)
    )

    assert values == [1, 2, 1, 2]
    assert found.converged


def test_an_edge_whose_repeat_fails_is_no_longer_met() -> None:
    """1 meets at first and not again: the search goes on below it."""
    outcomes = [M, N, N, M, M, N, N]

    values, found = search(lambda _, n: outcomes[n], Rule(start=1, ratio=2, repeats=2))

    assert values[:4] == [1, 2, 1, 0.5]
    assert found.highest_met == 0.5
    assert "repeats at 1 disagree: met, not met" in found.remarks


def test_the_declared_number_of_probes_ends_it_unfinished() -> None:
    values, found = search(
        lambda value, _: M if value <= 6 else N, Rule(start=1, ratio=1.001, most_probes=5)
    )

    assert len(values) == 5
    assert not found.converged
    assert found.lowest_not_met == 8


@given(st.floats(0.07, 900), st.floats(0.1, 500), st.floats(1.02, 3), st.sampled_from(list(Over)))
def test_any_threshold_is_bracketed_within_the_ratio(
    threshold: float, start: float, ratio: float, over: Over
) -> None:
    rule = Rule(over=over, start=start, ratio=ratio, most_probes=200)

    values, found = search(lambda value, _: M if value <= threshold else N, rule)

    assert len(values) < 60
    if found.highest_met is not None:
        assert found.highest_met <= threshold
    if found.lowest_not_met is not None:
        assert found.lowest_not_met > threshold
    if found.converged:
        width = (found.lowest_not_met or 0) / (found.highest_met or 1)
        gap = (found.lowest_not_met or 0) - (found.highest_met or 0)
        assert width <= ratio or (over is Over.concurrency and gap == 1)


def test_the_first_step_is_the_declared_start() -> None:
    assert next_step([], Rule(start=3)) == Ask(value=3, why="start")
