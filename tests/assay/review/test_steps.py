"""Reviews of real rows: submitting, judging, signing off, and what each leaves in the audit trail."""

import pytest
from django.core.exceptions import PermissionDenied

from assay.accounts.models import Role, Team
from assay.ledger.models import Run
from assay.review import steps
from assay.review.models import AuditEntry, Review
from assay.review.process import State, VerdictKind
from assay.review.sign_offs import digest_of
from assay.review.situation import open_gaps, situation_of
from assay.review.submitting import Submission, submit
from experiments.errors import Refusal
from tests.assay.pages.factory import Laboratory
from tests.assay.review.people import (
    accept_every_gap,
    access_of,
    answer_every_item,
    author,
    maintainer,
    reviewer,
    second_reviewer,
    signed_off,
    submitted,
)


def test_a_submission_pins_bundle_and_reading_and_asks_the_requirements(lab: Laboratory) -> None:
    review = submitted(lab.run)

    subject = review.subjects.get()
    assert subject.bundle_id == lab.bundle.digest
    assert subject.interpretation_digest == "77" * 32
    items = {item.key: item for item in review.items.all()}
    assert items["five-parts"].automatic == "holds"
    assert items["identity"].automatic == "does_not_hold"
    assert items["identity"].evidence == ["identity.json: without evidence: parallel_layout"]
    assert items["unit"].automatic == ""
    assert [e.step for e in review.audit.all()] == ["submit"]


def test_only_open_gaps_are_to_be_accepted(lab: Laboratory) -> None:
    # the made-up reading names three gaps; the third is accepted in the archive itself
    assert open_gaps(submitted(lab.run)) == [
        "process_returned: no memory reading after the engine stopped",
        "server record of load-0022.A1",
    ]


def test_a_gap_of_several_runs_is_accepted_once_by_its_name(lab: Laboratory) -> None:
    review = submitted(*lab.sweep)

    assert len(open_gaps(review)) == 2
    accept_every_gap(review, reviewer())
    assert situation_of(review).open_gaps == frozenset()


@pytest.mark.parametrize("state", ["running", "queued", "refused", "lost"])
def test_what_is_not_sealed_cannot_be_submitted(lab: Laboratory, state: str) -> None:
    with pytest.raises(Refusal) as refusal:
        submitted(lab.run, lab.by_state[state])

    finding = refusal.value.findings[0]
    assert finding.field == "runs"
    assert state in finding.seen
    assert not Review.objects.exists()


def test_a_review_says_what_is_claimed(lab: Laboratory) -> None:
    with pytest.raises(Refusal) as refusal:
        submit(author(), Submission(runs=[lab.run.id], title="x", statement="  "))

    assert [f.field for f in refusal.value.findings] == ["statement"]


def test_from_submission_to_sign_off(lab: Laboratory) -> None:
    review = submitted(lab.run)
    steps.give_verdict(reviewer(), review.id, VerdictKind.request_changes, "which level?")
    steps.answer_changes(author(), review.id, "E1, now said in the thread")
    accept_every_gap(review, reviewer())
    answer_every_item(review, author())
    steps.give_verdict(reviewer(), review.id, VerdictKind.approve, "the numbers bear it")

    made = steps.sign_off(second_reviewer(), review.id, "may be quoted")

    review.refresh_from_db()
    assert review.state == State.signed_off
    assert made.document["runs"][0]["bundle_digest"] == lab.bundle.digest
    assert (
        made.document["runs"][0]["definition_version"] == review.subjects.get().definition_version
    )
    assert made.document["approved_by"] == ["ben"]
    assert made.document["signed_by"] == "eve"
    assert made.digest == digest_of(made.document)
    trail = [(e.step, e.before, e.after) for e in review.audit.order_by("pk")]
    assert trail[:3] == [
        ("submit", "", "open"),
        ("request_changes", "open", "changes_requested"),
        ("answer_changes", "changes_requested", "open"),
    ]
    assert trail[-2:] == [("approve", "open", "approved"), ("sign_off", "approved", "signed_off")]


def test_a_refused_step_leaves_nothing(lab: Laboratory) -> None:
    review = submitted(lab.run)
    before = AuditEntry.objects.count()

    with pytest.raises(Refusal, match="gaps"):
        steps.give_verdict(reviewer(), review.id, VerdictKind.approve, "fine")

    assert AuditEntry.objects.count() == before
    assert not review.verdicts.exists()
    assert not review.reviewers.exists()


def test_who_had_the_runs_carried_out_is_an_author_too(lab: Laboratory) -> None:
    review = submit(
        maintainer(), Submission(runs=[lab.run.id], title="For Ada", statement="It is fast (E1).")
    )
    Run.objects.get(id=lab.run.id).study.__class__.objects.update(owner="ben")

    with pytest.raises(Refusal, match="by: ben"):
        steps.give_verdict(reviewer(), review.id, VerdictKind.reject, "no")


@pytest.mark.parametrize(
    ("role", "may"),
    [(Role.viewer, False), (Role.author, False), (Role.reviewer, True), (Role.maintainer, True)],
)
def test_only_reviewers_give_verdicts(lab: Laboratory, role: Role, *, may: bool) -> None:
    review = submitted(lab.run)
    zoe = access_of("zoe", role)

    if may:
        steps.give_verdict(zoe, review.id, VerdictKind.reject, "no")
    else:
        with pytest.raises(PermissionDenied):
            steps.give_verdict(zoe, review.id, VerdictKind.reject, "no")


def test_a_maintainer_of_another_team_may_do_nothing(lab: Laboratory) -> None:
    review = submitted(lab.run)
    other = access_of("kim", Role.maintainer, Team.objects.create(slug="other", name="Other"))

    with pytest.raises(PermissionDenied):
        steps.accept_gap(other, review.id, open_gaps(review)[0], "because")
    with pytest.raises(Refusal, match="no run of yours"):
        submit(other, Submission(runs=[lab.run.id], title="t", statement="s"))


def test_reviewers_are_asked_among_those_who_may(lab: Laboratory) -> None:
    review = submitted(lab.run)
    reviewer()
    access_of("zoe", Role.viewer)

    steps.ask(author(), review.id, "ben")
    for name in ("ada", "zoe", "nobody"):
        with pytest.raises(Refusal, match="reviewer"):
            steps.ask(author(), review.id, name)

    assert [r.user.get_username() for r in review.reviewers.all()] == ["ben"]


def test_a_maintainer_retracts_a_sign_off_and_nobody_else(lab: Laboratory) -> None:
    review = signed_off(lab.run)
    with pytest.raises(PermissionDenied):
        steps.retract(reviewer(), review.id, "the clock was wrong")

    steps.retract(maintainer(), review.id, "the clock was wrong")

    review.refresh_from_db()
    assert review.state == State.retracted
    assert review.sign_off.document["statement"] == review.statement


def test_an_open_review_is_superseded_at_once_and_a_sign_off_by_the_next_one(
    lab: Laboratory,
) -> None:
    first = submitted(lab.run)
    second = signed_off(lab.run, supersedes=first.id)
    first.refresh_from_db()
    assert first.state == State.superseded

    third = submitted(lab.run, supersedes=second.id)
    second.refresh_from_db()
    assert second.state == State.signed_off  # it stands until the next one does
    accept_every_gap(third, reviewer())
    answer_every_item(third, author())
    steps.give_verdict(reviewer(), third.id, VerdictKind.approve, "again")
    steps.sign_off(second_reviewer(), third.id, "again")

    second.refresh_from_db()
    assert second.state == State.superseded
    assert second.audit.order_by("pk").last().about == str(third.id)


def test_an_answer_names_an_item_and_one_of_three_answers(lab: Laboratory) -> None:
    review = submitted(lab.run)

    with pytest.raises(Refusal, match="item"):
        steps.answer_item(author(), review.id, "no-such", "holds", "note")
    with pytest.raises(Refusal, match="answer: maybe"):
        steps.answer_item(author(), review.id, "unit", "maybe", "note")
    with pytest.raises(Refusal, match="words"):
        steps.answer_item(author(), review.id, "unit", "holds", " ")
