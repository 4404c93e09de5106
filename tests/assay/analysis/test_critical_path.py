"""Stage graphs: longest path, slack, sensitivity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.critical_path import (
    LABEL,
    Stage,
    critical_path,
    gain_limit_s,
    path_range,
    reachable_alone,
    what_if,
)
from assay.analysis.errors import BadRecord

BRANCHES = {
    "start": Stage(duration_s=1),
    "short": Stage(duration_s=2, after=("start",)),
    "long": Stage(duration_s=5, after=("start",)),
    "join": Stage(duration_s=1, after=("short", "long")),
}


@pytest.mark.req("4.02")
@pytest.mark.forbids
def test_the_order_in_which_stages_are_written_makes_no_edge() -> None:
    shuffled = {name: BRANCHES[name] for name in ("join", "long", "short", "start")}

    assert critical_path(shuffled).total_s == critical_path(BRANCHES).total_s == 7


@pytest.mark.req("4.01")
def test_several_sinks_end_with_the_latest() -> None:
    found = critical_path({"a": Stage(duration_s=2), "b": Stage(duration_s=3)})

    assert found.total_s == 3
    assert found.path == ("b",)
    assert found.slack_s == {"a": 1, "b": 0}


@pytest.mark.req("4.03")
def test_a_graph_that_does_not_cover_waiting_is_incomplete() -> None:
    found = critical_path(BRANCHES, not_covered=["waiting"])

    assert found.incomplete == "the graph does not cover waiting"
    assert critical_path(BRANCHES).incomplete is None


@pytest.mark.req("4.12", "4.13")
def test_its_numbers_are_labelled_as_arithmetic() -> None:
    assert critical_path(BRANCHES).label == LABEL
    assert "not an observation" in LABEL


@pytest.mark.req("4.05", "4.07", "4.08")
@pytest.mark.forbids
def test_a_what_if_is_conditional_and_says_nothing_on_combined_changes() -> None:
    found = what_if(BRANCHES, "long", 0)

    assert "the dependencies are unchanged" in found.sentence
    assert "not attainable performance" in found.sentence
    assert "nothing on combined changes" in found.sentence
    # 1 + max(2, 0) + 1 = 4: the other branch takes over, so 3 s of the 5 are gained.
    assert (found.total_s, found.gain_s, found.path_switched) == (4, 3, True)


@pytest.mark.req("4.04")
def test_an_overlap_names_its_evidence_or_stands_among_the_assumptions() -> None:
    pair = frozenset({"short", "long"})

    assumed = what_if(BRANCHES, "long", 3)
    confirmed = what_if(BRANCHES, "long", 3, overlap_evidence={pair: "engine_events.jsonl:7"})

    assert assumed.assumptions[0] == "short and long overlap (assumed: no evidence)"
    assert confirmed.assumptions[0] == "short and long overlap (engine_events.jsonl:7)"
    assert assumed.assumptions[0] in assumed.sentence
    # Stages on one chain do not overlap: start and join take part in no pair.
    assert len([a for a in assumed.assumptions if "overlap" in a]) == 1


@pytest.mark.req("4.06")
def test_the_gain_of_a_stage_is_limited_by_the_next_longest_path() -> None:
    assert gain_limit_s(BRANCHES, "long") == 3
    assert gain_limit_s(BRANCHES, "short") == 0
    assert reachable_alone(BRANCHES, "long", 4.0)
    assert not reachable_alone(BRANCHES, "long", 3.9)


@pytest.mark.req("4.09")
def test_the_range_in_which_the_path_stays_the_same() -> None:
    off, on = path_range(BRANCHES, "short"), path_range(BRANCHES, "long")

    assert (off.low_s, off.high_s, off.on_path) == (0, 5, False)
    assert (on.low_s, on.high_s, on.on_path) == (2, None, True)


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ({"a": Stage(duration_s=1, after=("x",))}, "predecessors of a: x"),
        (
            {"a": Stage(duration_s=1, after=("b",)), "b": Stage(duration_s=1, after=("a",))},
            "a cycle through a, b",
        ),
    ],
)
def test_a_graph_that_is_no_dag_is_refused(stages: dict[str, Stage], words: str) -> None:
    with pytest.raises(BadRecord, match=words):
        critical_path(stages)


def test_a_negative_duration_is_refused() -> None:
    with pytest.raises(BadRecord, match="duration of long"):
        what_if(BRANCHES, "long", -1)


@given(st.lists(st.floats(0, 100), min_size=4, max_size=4), st.floats(0, 100))
def test_growing_a_stage_never_shortens_the_path(durations: list[float], more: float) -> None:
    stages = {
        name: Stage(duration_s=d, after=BRANCHES[name].after)
        for name, d in zip(BRANCHES, durations, strict=True)
    }

    grown = what_if(stages, "long", stages["long"].duration_s + more)

    assert grown.total_s >= critical_path(stages).total_s
    assert grown.total_s <= critical_path(stages).total_s + more + 1e-9
