"""Speculative rounds: two counts, whole-round cost, two accounts, and no step after a first stop token."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.perfmodel.speculation import (
    AcceptanceRate,
    RoundCost,
    RoundPart,
    account_round,
    decode_steps,
    speculative_round,
)

EOS = frozenset({2})
WHOLE = frozenset(RoundPart)


def rate(value: float = 0.5, **fields: Any) -> AcceptanceRate:
    known: dict[str, Any] = {
        "target": "target-70b", "draft": "draft-1b", "load": "chat, 2 requests/s", "batch": 8,
        "evidence": "engine counters of run 7",
    }  # fmt: skip
    return AcceptanceRate(value=value, **(known | fields))


@pytest.mark.req("10.02", "10.04")
def test_a_round_of_two_drafts_by_hand() -> None:
    found = speculative_round(
        rate(), drafts=2, cost=RoundCost(relative=1.4, covers=WHOLE), plain_step_s=0.010
    )

    # accepted 0.5 + 0.25, advance one more; a round of 14 ms gives 1.75 tokens
    assert found.accepted_drafts == 0.75
    assert found.advance == 1.75
    assert found.rejected_drafts == 1.25
    assert found.speed_up == pytest.approx(1.25)
    assert found.round_s == pytest.approx(0.014)
    assert found.time_per_token_s == pytest.approx(0.008)
    assert any("no output" in line for line in found.assumptions)


@pytest.mark.req("10.03")
def test_a_dear_round_is_reported_as_slower() -> None:
    found = speculative_round(
        rate(0.1), drafts=4, cost=RoundCost(relative=1.6, covers=WHOLE), plain_step_s=None
    )

    # advance 1 + 0.1 + 0.01 + 0.001 + 0.0001 = 1.1111 is below the cost
    assert found.speed_up == pytest.approx(1.1111 / 1.6)
    assert found.speed_up < 1
    assert found.break_even_cost == pytest.approx(1.1111)
    assert found.round_s is None


@pytest.mark.req("10.03")
@pytest.mark.forbids
@pytest.mark.parametrize(
    "covers",
    [{RoundPart.VERIFICATION}, {RoundPart.VERIFICATION, RoundPart.DRAFT}, set()],
    ids=["verification", "no correction", "nothing"],
)
def test_a_cost_that_is_not_of_the_whole_round_is_refused(covers: set[RoundPart]) -> None:
    with pytest.raises(ModelRefused, match="correction, ") as refused:
        RoundCost(relative=1.05, covers=frozenset(covers))

    assert "not in it" in str(refused.value)


@pytest.mark.req("10.03")
@pytest.mark.forbids
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"load": ""}, "load"),
        ({"evidence": ""}, "evidence"),
        ({"draft": ""}, "draft"),
        ({"batch": 0}, "batch"),
        ({"value": 1.2}, "acceptance_rate"),
    ],
)
def test_an_acceptance_rate_without_its_origin_is_refused(
    fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(ModelRefused, match=field):
        rate(**({"value": 0.7} | fields))


@pytest.mark.req("10.04", "10.05")
def test_rejected_drafts_are_written_and_rolled_back() -> None:
    found = account_round([11, 12, 13, 14], accepted=2, correction=15, stops=EOS)

    # 2 drafts and the correction come out; 1 + 4 positions were written, of which the newest token's own
    # state is not one: 3 stay
    assert found.output_tokens == 3
    assert (found.positions_written, found.positions_committed) == (5, 3)
    assert (found.rejected_drafts, found.positions_rolled_back) == (2, 2)


@pytest.mark.req("10.05")
def test_a_stop_inside_the_accepted_prefix_cuts_output_and_state_together() -> None:
    found = account_round([11, 2, 13, 14], accepted=3, correction=15, stops=EOS)

    assert found.output_tokens == 2
    assert found.positions_committed == 2
    assert found.cut_by_stop == 2  # draft 13 and the correction
    assert found.rejected_drafts == 1  # the target took three, whatever the stop cut


@pytest.mark.req("10.05")
@given(
    drafts=st.lists(st.integers(0, 5), max_size=6),
    accepted=st.integers(0, 6),
    correction=st.integers(0, 5),
)
def test_a_sequence_never_keeps_more_state_than_it_has_tokens(
    drafts: list[int], accepted: int, correction: int
) -> None:
    found = account_round(
        drafts, accepted=min(accepted, len(drafts)), correction=correction, stops=EOS
    )

    assert 1 <= found.output_tokens == found.positions_committed <= found.positions_written
    assert found.output_tokens + found.cut_by_stop == min(accepted, len(drafts)) + 1


@pytest.mark.req("10.06")
def test_a_first_token_that_stops_makes_no_decode_step() -> None:
    assert decode_steps([2], stops=EOS) == 0
    assert decode_steps([2, 9, 9], stops=EOS) == 0
    assert decode_steps([9, 9, 2, 9], stops=EOS) == 2
    assert decode_steps([9], stops=frozenset()) == 0
    assert decode_steps([], stops=EOS) == 0
