"""What is said of one run: its threads, reviews, notes and tags, and what an import brought along."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.review_places import place_url, place_words
from assay.pages.contexts.review_threads import ThreadView, thread_views
from assay.review.anchors import Anchor
from assay.review.models import ForeignHistory, Note, Review
from assay.review.queries import (
    RunReview,
    notes_of,
    states_of,
    tags_of,
    thread_counts,
    threads_of,
    visible_reviews,
    with_shown_state,
)
from assay.review.rights import project_of
from experiments.errors import Finding


class Said:
    """What every page of a run shows of it; each part is asked for once, when a template needs it."""

    def __init__(self, run_id: UUID) -> None:
        self.run_id = run_id

    @cached_property
    def review(self) -> RunReview | None:
        return states_of([self.run_id]).get(self.run_id)

    @cached_property
    def threads(self) -> dict[tuple[str, str], int]:
        return thread_counts(self.run_id)

    @property
    def count(self) -> int:
        return sum(self.threads.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place that a new thread is to be about."""

    kind: str
    key: str
    words: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Discussion:
    threads: list[ThreadView]  # about the asked place, or all of them
    elsewhere: int  # threads about other places
    place: Place | None
    reviews: list[Review]
    notes: list[Note]
    tags: list[str]
    brought: list[dict[str, Any]]
    may_write: bool
    refused: Sequence[Finding] = field(default=())
    typed: str = ""  # what a refused thread was to begin with


def discussion(
    head: RunHead,
    access: Access,
    anchor: Anchor | None,
    *,
    refused: Sequence[Finding] = (),
    typed: str = "",
) -> Discussion:
    run = head.run
    views = thread_views(threads_of(runs=[run.id]), reader=access.user.get_username())
    here = [v for v in views if anchor is None or (v.kind, v.key) == (anchor.kind, anchor.key)]
    reviews = with_shown_state(visible_reviews(access)).filter(subjects__run=run.id)
    brought = ForeignHistory.objects.filter(bundle__run=run.id).order_by("pk")
    return Discussion(
        threads=here,
        elsewhere=len(views) - len(here),
        place=_place(run.id, anchor) if anchor else None,
        reviews=list(reviews.select_related("author").order_by("-created_at")),
        notes=notes_of(run=run.id),
        tags=tags_of([run.id]).get(run.id, []),
        brought=list(brought.values_list("document", flat=True)),
        may_write=access.may(Action.write, project_of(run.study)),
        refused=refused,
        typed=typed,
    )


def _place(run_id: UUID, anchor: Anchor) -> Place:
    return Place(
        kind=anchor.kind.value,
        key=anchor.key,
        words=place_words(anchor),
        url=place_url(run_id, anchor),
    )
