"""Writes the steps of a review. Each owns its transaction, asks the rules first and leaves an audit entry."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from assay.accounts.access import Access
from assay.notifications.models import Event
from assay.notifications.services import notify
from assay.review.checklist import Answer
from assay.review.models import (
    AuditEntry,
    ChecklistAnswer,
    ChecklistItem,
    GapAcceptance,
    Review,
    Reviewer,
    SignOff,
    Verdict,
)
from assay.review.process import Act, Situation, State, Step, VerdictKind, take
from assay.review.rights import NEEDS, must, possible_reviewers
from assay.review.sign_offs import frozen
from assay.review.situation import situation_of
from experiments.errors import refuse


@transaction.atomic
def give_verdict(access: Access, review_id: UUID, kind: VerdictKind, statement: str) -> Verdict:
    """Approve, request changes or reject. Who does so unasked becomes a reviewer."""
    review, user, now = _locked(access, review_id, Step(kind.value))
    after = take(now, _act(Step(kind.value), user, statement))
    Reviewer.objects.get_or_create(review=review, user=user)
    verdict = Verdict.objects.create(
        review=review, by=user, kind=kind.value, statement=statement.strip(), round=now.round
    )
    _moved(review, user, Step(kind.value), now, after, words=statement)
    tell(Event.review_done, review, f"{user.get_username()}: {kind.value}")
    return verdict


@transaction.atomic
def accept_gap(access: Access, review_id: UUID, what: str, reason: str) -> GapAcceptance:
    review, user, now = _locked(access, review_id, Step.accept_gap)
    after = take(now, _act(Step.accept_gap, user, reason, what))
    accepted = GapAcceptance.objects.create(
        review=review, by=user, what=what, reason=reason.strip()
    )
    _moved(review, user, Step.accept_gap, now, after, words=reason, about=what)
    return accepted


@transaction.atomic
def answer_item(
    access: Access, review_id: UUID, key: str, answer: str, note: str
) -> ChecklistAnswer:
    review, user, now = _locked(access, review_id, Step.answer_item)
    item = _item(review, key)
    if answer not in list(Answer):
        raise refuse(
            field="answer",
            seen=answer or "nothing",
            allowed=", ".join(Answer),
            remedy="Choose one of them.",
        )
    after = take(now, _act(Step.answer_item, user, note, key))
    row = ChecklistAnswer.objects.create(item=item, by=user, answer=answer, note=note.strip())
    _moved(review, user, Step.answer_item, now, after, words=note, about=f"{key}: {answer}")
    return row


@transaction.atomic
def answer_changes(access: Access, review_id: UUID, words: str) -> None:
    """The author says what became of the requested changes; a new round begins."""
    review, user, now = _locked(access, review_id, Step.answer_changes)
    after = take(now, _act(Step.answer_changes, user, words))
    _moved(review, user, Step.answer_changes, now, after, words=words)


@transaction.atomic
def sign_off(access: Access, review_id: UUID, words: str) -> SignOff:
    """Freeze the statement with its bundles and definition version. What it supersedes ends with it."""
    review, user, now = _locked(access, review_id, Step.sign_off)
    after = take(now, _act(Step.sign_off, user, words))
    document, digest = frozen(review, signed_by=user.get_username(), words=words.strip())
    made = SignOff.objects.create(review=review, by=user, document=document, digest=digest)
    _moved(review, user, Step.sign_off, now, after, words=words, about=digest)
    tell(Event.review_done, review, f"signed off by {user.get_username()}")
    if review.supersedes is not None and review.supersedes.state == State.signed_off:
        supersede(review.supersedes, user, by_review=review)
    return made


@transaction.atomic
def withdraw(access: Access, review_id: UUID, words: str) -> None:
    review, user, now = _locked(access, review_id, Step.withdraw)
    after = take(now, _act(Step.withdraw, user, words))
    _moved(review, user, Step.withdraw, now, after, words=words)


@transaction.atomic
def retract(access: Access, review_id: UUID, words: str) -> None:
    """Take a sign-off back. It stays readable, with the reason."""
    review, user, now = _locked(access, review_id, Step.retract)
    after = take(now, _act(Step.retract, user, words))
    _moved(review, user, Step.retract, now, after, words=words)


@transaction.atomic
def ask(access: Access, review_id: UUID, name: str) -> None:
    """Ask somebody of the project's team to review."""
    review, user, now = _locked(access, review_id, Step.ask)
    after = take(now, _act(Step.ask, user, what=name))
    _ask(review, name, now)
    _moved(review, user, Step.ask, now, after, about=name)


def supersede(old: Review, user: User, *, by_review: Review) -> None:
    """The end of a review that another one replaces; within the caller's transaction."""
    now = situation_of(old)
    after = take(now, _act(Step.supersede, user))
    _moved(old, user, Step.supersede, now, after, about=str(by_review.id))


def _ask(review: Review, name: str, now: Situation) -> None:
    able = {user.get_username(): user for user in possible_reviewers(review.project)}
    for author in now.authors:
        able.pop(author, None)
    if name not in able:
        raise refuse(
            field="reviewer",
            seen=name or "nobody",
            allowed=", ".join(able) or "nobody of this project's team may review the author's runs",
            remedy="Name somebody with the role of a reviewer or maintainer.",
        )
    Reviewer.objects.get_or_create(review=review, user=able[name])


def _item(review: Review, key: str) -> ChecklistItem:
    item = review.items.filter(key=key).first()
    if item is None:
        raise refuse(
            field="item",
            seen=key or "nothing",
            allowed=", ".join(review.items.order_by("position").values_list("key", flat=True)),
            remedy="Name an item of this review's checklist.",
        )
    return item


def _act(step: Step, user: User, words: str = "", what: str = "") -> Act:
    return Act(step=step, by=user.get_username(), words=words, what=what)


def _locked(access: Access, review_id: UUID, step: Step) -> tuple[Review, User, Situation]:
    """The review, held until the transaction ends. SQLite locks the whole database as it begins."""
    review = (
        Review.objects.select_for_update(of=("self",))
        .select_related("author", "project", "supersedes")
        .get(id=review_id)
    )
    user = must(access, NEEDS[step], review.project_id)
    return review, user, situation_of(review)


def _moved(
    review: Review,
    user: User,
    step: Step,
    now: Situation,
    after: Situation,
    *,
    words: str = "",
    about: str = "",
) -> None:
    """Write the state that the rules gave, unless somebody else moved the review meanwhile."""
    changed = Review.objects.filter(id=review.id, state=now.state, round=now.round).update(
        state=after.state, round=after.round
    )
    if not changed:
        raise refuse(
            field="state",
            seen="another one than a moment ago",
            allowed=now.state.value,
            remedy="Load the page again: somebody else was first.",
        )
    review.state, review.round = after.state, after.round
    record(review, user, step, before=now.state, words=words, about=about)


def tell(event: Event, review: Review, what: str) -> None:
    """Queue a message for whoever asked for such; within the caller's transaction."""
    notify(event, review.project_id, f"{review.title}: {what}", f"/reviews/{review.id}")


def record(
    review: Review, user: User, step: Step, *, before: str = "", words: str = "", about: str = ""
) -> None:
    AuditEntry.objects.create(
        review=review,
        by=user,
        step=step.value,
        before=before,
        after=review.state,
        about=about,
        words=words.strip(),
    )
