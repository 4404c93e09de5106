"""What is asked of reviews: states as people see them, staleness, and for whom a review waits."""

from collections.abc import Callable

import pytest

from assay.accounts.models import Role, Team
from assay.ledger.models import Interpretation
from assay.review import queries, steps
from assay.review.process import VerdictKind
from assay.review.situation import situation_of
from tests.assay.pages.factory import Laboratory
from tests.assay.review.people import (
    accept_every_gap,
    access_of,
    author,
    reviewer,
    second_reviewer,
    signed_off,
    submitted,
)

Counted = Callable[..., object]


def read_anew(lab: Laboratory) -> None:
    Interpretation.objects.create(
        bundle=lab.bundle, definition_version="2099.1.1", digest="ab" * 32
    )


def test_a_sign_off_goes_stale_with_the_next_reading_of_its_bundle(lab: Laboratory) -> None:
    review = signed_off(lab.run)
    assert queries.states_of([lab.run.id])[lab.run.id].state == "signed_off"

    read_anew(lab)

    assert queries.states_of([lab.run.id])[lab.run.id].state == "stale"
    shown = queries.with_shown_state(queries.visible_reviews(author())).get()
    assert (shown.state, shown.shown_state) == ("signed_off", "stale")
    assert "another definition version" in situation_of(review).outdated


def test_a_reading_of_another_run_leaves_a_sign_off_alone(lab: Laboratory) -> None:
    signed_off(lab.sweep[0])

    read_anew(lab)  # of lab.run, the second of the sweep

    assert queries.states_of([lab.sweep[0].id])[lab.sweep[0].id].state == "signed_off"


def test_a_reading_older_than_the_submitted_one_is_no_news(lab: Laboratory) -> None:
    read_anew(lab)
    review = signed_off(lab.run)

    assert review.subjects.get().definition_version == "2099.1.1"
    assert queries.states_of([lab.run.id])[lab.run.id].state == "signed_off"


def test_states_of_many_runs_take_one_query(
    lab: Laboratory, django_assert_num_queries: Counted
) -> None:
    submitted(lab.sweep[0])
    signed_off(lab.sweep[1], lab.sweep[2])

    with django_assert_num_queries(1):  # type: ignore[attr-defined]
        found = queries.states_of([r.id for r in [*lab.sweep, *lab.by_state.values()]])

    assert [found[r.id].state for r in lab.sweep] == ["open", "signed_off", "signed_off"]
    assert len(found) == 3


def test_a_withdrawn_review_hides_no_other(lab: Laboratory) -> None:
    kept = submitted(lab.run)
    withdrawn = submitted(lab.run)
    steps.withdraw(author(), withdrawn.id, "the wrong statement")

    assert queries.states_of([lab.run.id])[lab.run.id].review_id == kept.id


def test_a_review_waits_for_a_verdict_then_an_answer_then_a_sign_off(lab: Laboratory) -> None:
    review = submitted(lab.run)

    def waits(access: object) -> list[str]:
        return [w.awaited for w in queries.reviews_waiting(access)]  # type: ignore[arg-type]

    assert (waits(reviewer()), waits(second_reviewer()), waits(author())) == (
        ["verdict"], ["verdict"], []
    )  # fmt: skip
    steps.ask(author(), review.id, "ben")
    assert (waits(reviewer()), waits(second_reviewer())) == (["verdict"], [])
    steps.give_verdict(reviewer(), review.id, VerdictKind.request_changes, "which level?")
    assert (waits(reviewer()), waits(author())) == ([], ["answer"])
    steps.answer_changes(author(), review.id, "E1")
    assert (waits(reviewer()), waits(author())) == (["verdict"], [])
    accept_every_gap(review, reviewer())
    steps.give_verdict(reviewer(), review.id, VerdictKind.approve, "fine")
    assert waits(reviewer()) == ["sign-off"]
    steps.withdraw(author(), review.id, "later")
    assert waits(reviewer()) == []


@pytest.mark.parametrize("role", [Role.viewer, Role.author])
def test_nothing_waits_for_who_may_not_judge(lab: Laboratory, role: Role) -> None:
    submitted(lab.run)

    assert queries.reviews_waiting(access_of("zoe", role)) == []


def test_another_team_sees_no_review(lab: Laboratory) -> None:
    submitted(lab.run)
    other = access_of("kim", Role.maintainer, Team.objects.create(slug="other", name="Other"))

    assert not queries.visible_reviews(other).exists()
    assert queries.reviews_waiting(other) == []
