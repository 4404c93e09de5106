"""The course of a review as values: what may be done in which state, and what can never come about."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.review.process import (
    BY_ANOTHER,
    FINAL,
    FROM,
    Act,
    Given,
    Situation,
    State,
    Step,
    VerdictKind,
    standing,
    take,
)
from experiments.errors import Refusal

AUTHORS = frozenset({"ada", "abe"})
NOW = Situation(authors=AUTHORS, open_gaps=frozenset({"no trace"}), unanswered=frozenset({"unit"}))
READY = replace(NOW, open_gaps=frozenset(), unanswered=frozenset())


def act(step: Step, by: str = "ben", what: str = "") -> Act:
    return Act(step=step, by=by, words="because", what=what)


def refused(now: Situation, an_act: Act) -> str:
    with pytest.raises(Refusal) as refusal:
        take(now, an_act)
    finding = refusal.value.findings[0]
    assert finding.seen
    assert finding.allowed
    assert finding.remedy
    return finding.field


STEPS = st.sampled_from([s for s in Step if s is not Step.submit])
ACTS = st.builds(
    Act,
    step=STEPS,
    by=st.sampled_from(["ada", "abe", "ben", "eve"]),
    words=st.sampled_from(["", "because"]),
    what=st.sampled_from(["", "no trace", "no log", "unit", "level"]),
)


@settings(max_examples=400, deadline=None)
@given(
    acts=st.lists(ACTS, max_size=30),
    gaps=st.frozensets(st.sampled_from(["no trace", "no log"])),
    items=st.frozensets(st.sampled_from(["unit", "level"])),
    outdated_after=st.integers(0, 30),
)
def test_nothing_leads_to_a_sign_off_without_another_person_all_gaps_and_all_items(
    acts: list[Act], gaps: frozenset[str], items: frozenset[str], outdated_after: int
) -> None:
    now = Situation(authors=AUTHORS, open_gaps=gaps, unanswered=items)
    taken: list[Act] = []
    for number, an_act in enumerate(acts):
        if number == outdated_after:
            now = replace(now, outdated="read by another version")
        try:
            following = take(now, an_act)
        except Refusal:
            continue
        if following.state is State.signed_off and now.state is not State.signed_off:
            approvers = {a.by for a in taken if a.step is Step.approve}
            assert approvers - AUTHORS
            assert an_act.by not in AUTHORS
            assert {a.what for a in taken if a.step is Step.accept_gap} >= gaps
            assert {a.what for a in taken if a.step is Step.answer_item} >= items
            assert not now.outdated
            assert all(a.words for a in taken if a.step in (Step.accept_gap, Step.answer_item))
        taken.append(an_act)
        now = following


def test_the_shortest_way_to_a_sign_off() -> None:
    now = NOW
    for an_act in (
        act(Step.accept_gap, what="no trace"),
        act(Step.answer_item, by="ada", what="unit"),
        act(Step.approve),
        act(Step.sign_off, by="eve"),
    ):
        now = take(now, an_act)

    assert now.state is State.signed_off


@pytest.mark.parametrize("step", sorted(BY_ANOTHER))
def test_who_made_the_runs_does_not_judge_them(step: Step) -> None:
    for author in AUTHORS:
        now = replace(READY, state=State.approved, open_gaps=frozenset({"g"}))
        assert refused(now, act(step, by=author, what="g")) == "by"


def test_approval_waits_for_every_open_gap() -> None:
    assert refused(NOW, act(Step.approve)) == "gaps"


def test_a_sign_off_waits_for_every_item() -> None:
    now = take(replace(READY, unanswered=frozenset({"unit"})), act(Step.approve))

    assert refused(now, act(Step.sign_off)) == "checklist"


@pytest.mark.parametrize("step", [Step.approve, Step.sign_off])
def test_what_was_read_anew_is_not_judged_by_the_old_reading(step: Step) -> None:
    now = replace(READY, state=State.approved, outdated="#3 was read anew")

    assert refused(now, act(step)) == "runs"


def test_opposite_verdicts_make_a_dispute_that_a_changed_mind_settles() -> None:
    now = take(take(READY, act(Step.approve)), act(Step.reject, by="eve"))
    assert now.state is State.disputed
    assert refused(now, act(Step.sign_off, by="joe")) == "state"

    assert take(now, act(Step.approve, by="eve")).state is State.approved
    assert take(now, act(Step.reject, by="ben")).state is State.rejected


def test_an_answer_lifts_requests_for_changes_and_no_rejection() -> None:
    now = take(READY, act(Step.request_changes))
    now = take(now, act(Step.answer_changes, by="ada"))
    assert (now.state, now.round) == (State.open, 2)

    rejected = take(now, act(Step.reject))
    assert refused(rejected, act(Step.answer_changes, by="ada")) == "state"


def test_a_request_for_changes_of_one_stands_beside_the_approval_of_another() -> None:
    asked = take(take(READY, act(Step.approve, by="eve")), act(Step.request_changes))
    assert asked.state is State.changes_requested

    assert take(asked, act(Step.answer_changes, by="abe")).state is State.approved


@pytest.mark.parametrize("state", sorted(FINAL))
def test_nothing_follows_an_end(state: State) -> None:
    for step in Step:
        assert refused(replace(READY, state=state), act(step, by="ada")) == "state"


def test_every_step_says_why() -> None:
    silent = Act(step=Step.approve, by="ben", words="  ")

    assert refused(READY, silent) == "words"


def test_only_an_author_withdraws() -> None:
    assert refused(READY, act(Step.withdraw, by="ben")) == "by"
    assert take(READY, act(Step.withdraw, by="abe")).state is State.withdrawn


def test_a_gap_that_is_not_open_cannot_be_accepted() -> None:
    assert refused(NOW, act(Step.accept_gap, what="another")) == "gap"


def test_every_step_has_states_it_is_taken_from() -> None:
    assert set(FROM) == set(Step)
    assert [s for s in Step if not FROM[s]] == [Step.submit]


def test_the_last_verdict_of_each_person_counts() -> None:
    verdicts = (
        Given(by="ben", kind=VerdictKind.reject, round=1),
        Given(by="ben", kind=VerdictKind.approve, round=1),
        Given(by="eve", kind=VerdictKind.request_changes, round=1),
    )

    assert standing(verdicts, round=1) is State.changes_requested
    assert standing(verdicts, round=2) is State.approved
