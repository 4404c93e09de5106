"""What became of each batch shape; more than one outcome may hold of one shape, and none is assumed."""

from typing import Any

import pytest

from assay.analysis.claims.dispatch import (
    Dispatch,
    GraphSetting,
    Outcome,
    dispatches,
    outcome_shares,
)
from assay.analysis.errors import BadRecord
from runners.engines.vllm.iteration_lines import dispatch
from tests.assay.analysis.recorded_engines import FIXTURES

FULL = GraphSetting(mode="FULL", buckets=(1, 2, 4, 8), capability="ALWAYS")


def one(setting: GraphSetting = FULL, **row: Any) -> Dispatch:
    (found,) = dispatches([{"tokens": 3, "count": 5, "mode": "FULL"} | row], setting)
    return found


@pytest.mark.req("7.04")
@pytest.mark.parametrize(
    ("row", "outcomes"),
    [
        ({"tokens": 3, "padded": 4}, {Outcome.padding, Outcome.reuse}),
        ({"tokens": 4, "padded": 4}, {Outcome.bucket, Outcome.reuse}),
        ({"tokens": 3, "padded": 4, "captured": True}, {Outcome.padding, Outcome.capture}),
        (
            {"tokens": 3, "padded": 4, "mode": "PIECEWISE"},
            {Outcome.padding, Outcome.reuse, Outcome.downgrade},
        ),
        ({"tokens": 300, "padded": 300, "mode": "NONE"}, {Outcome.eager, Outcome.downgrade}),
        ({"error": "no graph of this size"}, {Outcome.error}),
    ],
)
def test_a_shapes_outcomes_are_those_that_were_counted(
    row: dict[str, Any], outcomes: set[Outcome]
) -> None:
    assert one(**row).outcomes == outcomes


@pytest.mark.req("7.05")
def test_a_dispatch_holds_its_key_the_captured_sizes_the_mode_and_the_capability() -> None:
    found = one(padded=4, requests=3, uniform=True, lora=False)

    key = (found.padded_tokens, found.requests, found.uniform, found.lora)
    assert key == (4, 3, True, False)
    assert found.mode == "FULL"
    assert found.setting == FULL


@pytest.mark.req("7.04")
def test_eager_that_was_asked_for_is_no_downgrade() -> None:
    setting = GraphSetting(mode="NONE", buckets=(), capability=None)

    assert one(setting, mode="NONE", padded=3).outcomes == {Outcome.eager}


@pytest.mark.req("7.10")
@pytest.mark.forbids
def test_replay_and_downgrade_are_not_assumed_where_the_run_says_neither_sizes_nor_mode() -> None:
    found = one(GraphSetting(mode=None, buckets=None, capability=None), padded=3)

    assert found.outcomes == frozenset()
    assert "not told apart" in found.reason


@pytest.mark.req("7.10")
@pytest.mark.forbids
def test_a_mode_of_another_version_has_no_outcome() -> None:
    found = one(mode="BREAKABLE")

    assert found.outcomes == frozenset()
    assert "BREAKABLE is not a known one" in found.reason


@pytest.mark.req("7.04")
def test_the_recorded_burst_of_vllm_ran_every_shape_eagerly() -> None:
    lines = (FIXTURES / "vllm-0.32.0-cpu" / "requests_burst.log").read_text().splitlines()
    rows = [row for line in lines if (row := dispatch(line.partition("] ")[2])) is not None]

    found = dispatches(rows, GraphSetting(mode="NONE", buckets=(), capability=None))

    # two tables: 8 + 14 steps of two tokens, 3 + 10 of one
    assert {d.tokens: d.count for d in found if d.tokens < 3} == {1: 13, 2: 22}
    assert outcome_shares(found) == {Outcome.eager: 1.0}


def test_shares_count_steps_and_may_add_up_to_more_than_one() -> None:
    rows = [
        {"tokens": 3, "padded": 4, "count": 3, "mode": "FULL"},
        {"tokens": 9, "padded": 9, "count": 1, "mode": "NONE"},
    ]

    shares = outcome_shares(dispatches(rows, FULL))

    # 3 of 4 steps were padded and replayed, 1 of 4 ran eagerly although FULL was asked for
    assert shares == {
        Outcome.padding: 0.75,
        Outcome.reuse: 0.75,
        Outcome.downgrade: 0.25,
        Outcome.eager: 0.25,
    }


def test_a_row_without_its_counts_is_refused_whole() -> None:
    with pytest.raises(BadRecord, match="shape_dispatch"):
        dispatches([{"tokens": "3", "count": 1, "mode": "FULL"}], FULL)
