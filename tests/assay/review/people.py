"""The people of a team, each with what they may do, and what they do in tests of reviews."""

from uuid import UUID

from django.contrib.auth.models import User

from assay.accounts.access import Access
from assay.accounts.models import Role, Team
from assay.accounts.services import join, main_project
from assay.ledger.models import Run
from assay.review import steps
from assay.review.models import Review
from assay.review.process import VerdictKind
from assay.review.situation import open_gaps, unanswered_items
from assay.review.submitting import Submission, submit


def access_of(name: str, role: Role, team: Team | None = None) -> Access:
    user, _ = User.objects.get_or_create(username=name)
    join(team or main_project().team, user, role)
    return Access(user=user)


def author() -> Access:
    return access_of("ada", Role.author)


def reviewer() -> Access:
    return access_of("ben", Role.reviewer)


def second_reviewer() -> Access:
    return access_of("eve", Role.reviewer)


def maintainer() -> Access:
    return access_of("max", Role.maintainer)


def submitted(*runs: Run, supersedes: UUID | None = None) -> Review:
    """By Ada, whose study it is made to be."""
    for run in runs:
        type(run.study).objects.filter(id=run.study_id).update(owner="ada")
    return submit(
        author(),
        Submission(
            runs=[run.id for run in runs],
            title="SmolLM2 under load",
            statement="At four at a time TTFT stays below 200 ms for 20 of 24 requests (E1).",
            supersedes=supersedes,
        ),
    )


def accept_every_gap(review: Review, by: Access) -> None:
    for what in open_gaps(review):
        steps.accept_gap(by, review.id, what, "the statement does not rest on it")


def answer_every_item(review: Review, by: Access) -> None:
    for item in unanswered_items(review):
        steps.answer_item(by, review.id, item.key, "holds", "read against the statement")


def signed_off(*runs: Run, supersedes: UUID | None = None) -> Review:
    review = submitted(*runs, supersedes=supersedes)
    accept_every_gap(review, reviewer())
    answer_every_item(review, author())
    steps.give_verdict(reviewer(), review.id, VerdictKind.approve, "the numbers bear it")
    steps.sign_off(second_reviewer(), review.id, "may be quoted with its level")
    review.refresh_from_db()
    return review
