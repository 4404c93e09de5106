"""The database itself keeps what was said in a review: tried by raw SQL, on whichever database runs."""

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


@pytest.mark.parametrize("table", GUARDED)
def test_what_was_said_cannot_be_changed(table: str, said: Review) -> None:
    assert "cannot be changed" in refusal_of(f"UPDATE {table} SET {GUARDED[table]}")


@pytest.mark.parametrize("table", [*GUARDED, "review_review"])
def test_what_was_said_cannot_be_deleted(table: str, said: Review) -> None:
    assert "cannot be changed" in refusal_of(f"DELETE FROM {table}")


@pytest.mark.parametrize(
    "change",
    [
        "statement = 'another'",
        "title = 'another'",
        "author_id = author_id + 1",
        "state = 'open'",
        "state = 'approved'",
        "created_at = '2020-01-01T00:00:00Z'",
    ],
)
def test_a_sign_off_cannot_be_undone_behind_the_rules(change: str, said: Review) -> None:
    assert "cannot be changed" in refusal_of(f"UPDATE review_review SET {change}")


def test_a_retracted_review_stays_retracted(said: Review) -> None:
    steps.retract(maintainer(), said.id, "the clock was wrong")

    assert "cannot be changed" in refusal_of("UPDATE review_review SET state = 'signed_off'")
