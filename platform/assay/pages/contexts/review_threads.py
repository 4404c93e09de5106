"""Threads as people read them: edited words in place of the first ones, with a link back to the place."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from assay.pages.contexts.review_places import place_url, place_words
from assay.review.discussing import is_resolved
from assay.review.models import Comment, CommentKind, Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentView:
    id: int
    by: str
    at: datetime
    text: str
    kind: str
    before: list[str]  # what it said before it was edited, oldest first
    own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    id: UUID
    place: str
    url: str  # of the place; empty for a review's statement
    run: str
    kind: str
    key: str
    comments: list[CommentView]
    resolved: bool


def thread_views(threads: Iterable[Thread], *, reader: str) -> list[ThreadView]:
    return [_view(thread, reader) for thread in threads]


def _view(thread: Thread, reader: str) -> ThreadView:
    comments = sorted(thread.comments.all(), key=lambda c: c.pk)
    run = thread.run
    return ThreadView(
        id=thread.id,
        place=place_words(thread.anchor),
        url=place_url(run.id, thread.anchor) if run else "",
        run=f"{run.study.name} #{run.position}" if run else "",
        kind=thread.kind,
        key=thread.key,
        comments=[_comment(c, comments, reader) for c in comments if c.kind != CommentKind.edit],
        resolved=is_resolved(comments),
    )


def _comment(comment: Comment, every: list[Comment], reader: str) -> CommentView:
    edits = [c.text for c in every if c.kind == CommentKind.edit and c.replaces_id == comment.pk]
    said = [comment.text, *edits]
    by = comment.by.get_username()
    return CommentView(
        id=comment.pk,
        by=by,
        at=comment.at,
        text=said[-1],
        kind=comment.kind,
        before=said[:-1],
        own=by == reader and comment.kind == CommentKind.say,
    )
