"""Writes threads and comments. Both are only added to; an edit is a comment that replaces another."""

from uuid import UUID

from django.db import transaction

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.ledger.ids import uuid7
from assay.ledger.models import Run
from assay.review.anchors import Anchor, AnchorKind
from assay.review.models import Comment, CommentKind, Review, Thread
from assay.review.places import must_exist
from assay.review.rights import must, project_of
from experiments.errors import refuse

LONGEST = 20_000


@transaction.atomic
def start_thread(access: Access, run: Run, anchor: Anchor, text: str) -> Thread:
    """A thread about one place of a run, with its first words."""
    user = must(access, Action.write, project_of(run.study))
    words = _words(text)
    must_exist(run, anchor)
    thread = Thread.objects.create(
        id=uuid7(), run=run, kind=anchor.kind.value, key=anchor.key, by=user
    )
    Comment.objects.create(thread=thread, by=user, text=words)
    return thread


@transaction.atomic
def start_thread_on_statement(access: Access, review: Review, text: str) -> Thread:
    user = must(access, Action.write, review.project_id)
    words = _words(text)
    thread = Thread.objects.create(
        id=uuid7(), review=review, kind=AnchorKind.statement.value, by=user
    )
    Comment.objects.create(thread=thread, by=user, text=words)
    return thread


@transaction.atomic
def say(access: Access, thread_id: UUID, text: str) -> Comment:
    thread = _thread(thread_id)
    user = must(access, Action.write, project_of_thread(thread))
    return Comment.objects.create(thread=thread, by=user, text=_words(text))


@transaction.atomic
def edit(access: Access, thread_id: UUID, comment_id: int, text: str) -> Comment:
    """New words for one's own comment; the ones before stay."""
    thread = _thread(thread_id)
    user = must(access, Action.write, project_of_thread(thread))
    first = thread.comments.filter(id=comment_id, kind=CommentKind.say).first()
    if first is None or first.by_id != user.pk:
        raise refuse(
            field="comment",
            seen=comment_id,
            allowed="one's own words in this thread",
            remedy="Answer in the thread instead.",
        )
    return Comment.objects.create(
        thread=thread, by=user, kind=CommentKind.edit, replaces=first, text=_words(text)
    )


@transaction.atomic
def resolve(access: Access, thread_id: UUID, text: str) -> Comment:
    return _turn(access, thread_id, CommentKind.resolve, text)


@transaction.atomic
def reopen(access: Access, thread_id: UUID, text: str) -> Comment:
    return _turn(access, thread_id, CommentKind.reopen, text)


def is_resolved(comments: list[Comment]) -> bool:
    """By the last comment that says anything of it; ``comments`` are those of one thread, oldest first."""
    turns = [c.kind for c in comments if c.kind in (CommentKind.resolve, CommentKind.reopen)]
    return bool(turns) and turns[-1] == CommentKind.resolve


def project_of_thread(thread: Thread) -> UUID:
    if thread.run is not None:
        return project_of(thread.run.study)
    assert thread.review is not None  # the database holds that it is one of the two
    return thread.review.project_id


def _turn(access: Access, thread_id: UUID, kind: CommentKind, text: str) -> Comment:
    thread = _thread(thread_id)
    user = must(access, Action.write, project_of_thread(thread))
    resolved = is_resolved(list(thread.comments.order_by("pk")))
    if resolved is (kind == CommentKind.resolve):
        raise refuse(
            field="thread",
            seen="resolved already" if resolved else "open",
            allowed="an open thread to resolve, a resolved one to reopen",
            remedy="Load the page again: somebody else was first.",
        )
    return Comment.objects.create(thread=thread, by=user, kind=kind, text=text.strip()[:LONGEST])


def _thread(thread_id: UUID) -> Thread:
    return (
        Thread.objects.select_for_update(of=("self",))
        .select_related("run__study", "review")
        .get(id=thread_id)
    )


def _words(text: str) -> str:
    words = text.strip()
    if not 1 <= len(words) <= LONGEST:
        raise refuse(
            field="text",
            seen=f"{len(words)} characters",
            allowed=f"1 to {LONGEST}",
            remedy="Write what you mean.",
        )
    return words
