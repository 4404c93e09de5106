"""The database itself keeps what was said in a review: tried by raw SQL, on whichever database runs."""

from collections.abc import Iterable

import pytest
from django.contrib.auth.models import User

from assay.review import annotating, discussing, foreign, steps
from assay.review.anchors import Anchor, AnchorKind
from assay.review.history import written
from assay.review.models import Review
from tests.assay.ledger.test_guards import refusal_of
from tests.assay.pages.factory import Laboratory
from tests.assay.review.people import author, maintainer, signed_off

GUARDED = {
    "review_subject": "bundle_id = bundle_id",
    "review_verdict": "kind = 'approve'",
    "review_checklistitem": "automatic = 'holds'",
    "review_checklistanswer": "answer = 'holds'",
    "review_gapacceptance": "reason = 'x'",
    "review_signoff": "digest = 'x'",
    "review_auditentry": "words = 'x'",
    "review_thread": "kind = 'run'",
    "review_comment": "text = 'x'",
    "review_note": "text = 'x'",
    "review_foreignhistory": "digest = 'x'",
}


@pytest.fixture
def said(lab: Laboratory) -> Review:
    """A signed-off review with a row in every table."""
    review = signed_off(lab.run)
    discussing.start_thread(author(), lab.run, Anchor(kind=AnchorKind.run), "why four?")
    annotating.note(author(), lab.run, "measured on a warm machine")
    history = foreign.parsed(written(lab.bundle.digest), bundle_digest=lab.bundle.digest)
    foreign.keep(history, lab.bundle, user=User.objects.get(username="ada"))
    return review


def let_through(statements: Iterable[str]) -> list[str]:
    return [s for s in statements if "cannot be changed" not in refusal_of(s)]


@pytest.mark.usefixtures("said")
def test_what_was_said_cannot_be_changed() -> None:
    assert let_through(f"UPDATE {table} SET {what}" for table, what in GUARDED.items()) == []


@pytest.mark.usefixtures("said")
def test_what_was_said_cannot_be_deleted() -> None:
    assert let_through(f"DELETE FROM {table}" for table in [*GUARDED, "review_review"]) == []


@pytest.mark.usefixtures("said")
def test_a_sign_off_cannot_be_undone_behind_the_rules() -> None:
    changes = (
        "statement = 'another'",
        "title = 'another'",
        "author_id = author_id + 1",
        "state = 'open'",
        "state = 'approved'",
        "created_at = '2020-01-01T00:00:00Z'",
    )

    assert let_through(f"UPDATE review_review SET {change}" for change in changes) == []


def test_a_retracted_review_stays_retracted(said: Review) -> None:
    steps.retract(maintainer(), said.id, "the clock was wrong")

    assert "cannot be changed" in refusal_of("UPDATE review_review SET state = 'signed_off'")
