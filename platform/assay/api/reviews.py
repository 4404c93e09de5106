"""Reviews of sealed runs: what was asked and said, submitting one, and each step of it."""

from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from assay.accounts.models import Action
from assay.api.doors import access_of, may
from assay.api.errors import answers
from assay.api.paging import Paged, Paging, part_of, place
from assay.api.texts import Prose, Words
from assay.review import steps
from assay.review.documents import described, listed
from assay.review.models import Review
from assay.review.process import VerdictKind
from assay.review.queries import reviews_waiting, visible_reviews, with_shown_state
from assay.review.submitting import MOST_RUNS, Submission, submit

router = Router(tags=["reviews"])


class ReviewRow(Schema):
    """``awaited``: what the review waits for from whoever asks: verdict, sign-off or answer."""

    review: UUID
    title: str
    state: str
    author: str
    submitted_at: str
    awaited: str | None


class ReviewsOut(Paged):
    reviews: list[ReviewRow]


class ReviewOut(Schema):
    """``state`` is ``stale`` for a sign-off that its runs have left behind; ``outdated`` then says how."""

    review: UUID
    title: str
    statement: str
    state: str
    author: str
    submitted_at: str
    round: int
    runs: list[dict[str, Any]]
    reviewers: list[str]
    open_gaps: list[str]
    accepted_gaps: list[dict[str, Any]]
    unanswered: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]
    outdated: str | None
    supersedes: UUID | None
    sign_off: dict[str, Any] | None


class WantedReview(Schema):
    """``reviewers`` are names of members who may review."""

    runs: Annotated[list[UUID], Field(min_length=1, max_length=MOST_RUNS)]
    title: Words
    statement: Prose
    reviewers: Annotated[list[Words], Field(max_length=50)] = []
    supersedes: UUID | None = None


class Said(Schema):
    words: Prose = ""


class GivenVerdict(Said):
    kind: VerdictKind


class AcceptedGap(Said):
    """``what`` is the gap by its name; ``words`` say why it may stay open."""

    what: Prose


class Answer(Said):
    item: Words
    answer: Words


class Asked(Schema):
    name: Words


@router.get("", response=answers(ReviewsOut))
def list_reviews(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """Newest first, with what each waits for from whoever asks."""
    access = access_of(request)
    awaited = {waiting.review.id: waiting.awaited for waiting in reviews_waiting(access)}
    reviews = with_shown_state(visible_reviews(access)).select_related("author")
    part = part_of(reviews.order_by("-created_at", "-id"), paging)
    rows = [listed(review, awaited=awaited.get(review.id)) for review in part.rows]
    return {"reviews": rows, **place(paging, part.total)}


@router.post("", response=answers(ReviewOut, status=201))
def submit_review(request: HttpRequest, wanted: WantedReview) -> Status[Any]:
    """Puts sealed and interpreted runs of one project up for review, with a checklist of what applies."""
    submission = Submission(
        runs=wanted.runs,
        title=wanted.title,
        statement=wanted.statement,
        reviewers=wanted.reviewers,
        supersedes=wanted.supersedes,
    )
    return Status(201, described(submit(access_of(request), submission)))


@router.get("/{uuid:review_id}", response=answers(ReviewOut))
def get_review(request: HttpRequest, review_id: UUID) -> dict[str, Any]:
    """Its runs, what is open, what was said, and the sign-off with the digest that it is bound to."""
    return _described(review_id)


@router.post("/{uuid:review_id}/verdicts", response=answers(ReviewOut), auth=may(Action.review))
def give_verdict(request: HttpRequest, review_id: UUID, said: GivenVerdict) -> dict[str, Any]:
    """Approve, request changes or reject; never by the author alone."""
    _exists(review_id)
    steps.give_verdict(access_of(request), review_id, said.kind, said.words)
    return _described(review_id)


@router.post("/{uuid:review_id}/gaps", response=answers(ReviewOut), auth=may(Action.review))
def accept_gap(request: HttpRequest, review_id: UUID, said: AcceptedGap) -> dict[str, Any]:
    """Accepts one open gap by name, with a reason."""
    _exists(review_id)
    steps.accept_gap(access_of(request), review_id, said.what, said.words)
    return _described(review_id)


@router.post("/{uuid:review_id}/sign-off", response=answers(ReviewOut), auth=may(Action.review))
def sign_off(request: HttpRequest, review_id: UUID, said: Said) -> dict[str, Any]:
    """Freezes the statement, bound to bundle digests and definition version."""
    _exists(review_id)
    steps.sign_off(access_of(request), review_id, said.words)
    return _described(review_id)


@router.post("/{uuid:review_id}/reviewers", response=answers(ReviewOut))
def ask_reviewer(request: HttpRequest, review_id: UUID, asked: Asked) -> dict[str, Any]:
    """Asks one more member to review."""
    _exists(review_id)
    steps.ask(access_of(request), review_id, asked.name)
    return _described(review_id)


@router.post("/{uuid:review_id}/answers", response=answers(ReviewOut))
def answer_item(request: HttpRequest, review_id: UUID, said: Answer) -> dict[str, Any]:
    """Answers one item of the checklist."""
    _exists(review_id)
    steps.answer_item(access_of(request), review_id, said.item, said.answer, said.words)
    return _described(review_id)


@router.post("/{uuid:review_id}/changes", response=answers(ReviewOut))
def answer_changes(request: HttpRequest, review_id: UUID, said: Said) -> dict[str, Any]:
    """Says what was changed, and starts the next round."""
    _exists(review_id)
    steps.answer_changes(access_of(request), review_id, said.words)
    return _described(review_id)


@router.post("/{uuid:review_id}/withdraw", response=answers(ReviewOut))
def withdraw(request: HttpRequest, review_id: UUID, said: Said) -> dict[str, Any]:
    """Takes the question back; the review stays readable."""
    _exists(review_id)
    steps.withdraw(access_of(request), review_id, said.words)
    return _described(review_id)


@router.post("/{uuid:review_id}/retract", response=answers(ReviewOut), auth=may(Action.manage))
def retract(request: HttpRequest, review_id: UUID, said: Said) -> dict[str, Any]:
    """Takes a sign-off back, with a reason; it stays readable."""
    _exists(review_id)
    steps.retract(access_of(request), review_id, said.words)
    return _described(review_id)


def _exists(review_id: UUID) -> None:
    """Whoever runs the installation is not stopped at the door."""
    get_object_or_404(Review, id=review_id)


def _described(review_id: UUID) -> dict[str, Any]:
    return dict(described(get_object_or_404(Review.objects.select_related("author"), id=review_id)))
