"""The list of reviews: mine, those that wait for me, all; each with its state and what it is about."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from assay.accounts.access import Access
from assay.pages.paging import Paged, window
from assay.review.models import Review
from assay.review.process import STALE, State
from assay.review.queries import (
    in_shown_state,
    reviews_waiting,
    visible_reviews,
    with_shown_state,
)

WAITING, MINE, ALL = "waiting", "mine", "all"
SHOWS = ((WAITING, _("Waiting for me")), (MINE, _("Mine")), (ALL, _("All")))
STATES = (*(state.value for state in State), STALE)
AWAITED = {
    "verdict": _("your verdict"),
    "sign-off": _("a sign-off"),
    "answer": _("your answer to requested changes"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    key: str
    label: str
    here: bool
    count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRow:
    id: UUID
    title: str
    state: str
    author: str
    project: str
    runs: int
    reviewers: str
    review: Review
    awaited: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewsPage:
    tabs: list[Tab]
    show: str
    state: str
    text: str
    states: tuple[str, ...]
    paged: Paged[ReviewRow]


def reviews_page(parameters: QueryDict, access: Access) -> ReviewsPage:
    waiting = {w.review.pk: w.awaited for w in reviews_waiting(access)}
    state, text = parameters.get("state", ""), parameters.get("q", "").strip()[:200]
    show = parameters.get("show", "")
    if show not in (WAITING, MINE, ALL):
        show = WAITING if waiting and not (state or text) else ALL
    chosen = _chosen(access, show, list(waiting))
    if state in STATES:
        chosen = in_shown_state(chosen, state)
    for word in text.split():
        chosen = chosen.filter(
            Q(title__icontains=word) | Q(statement__icontains=word) | Q(author__username=word)
        )
    where = window(chosen.count(), parameters.get("page"))
    rows = chosen[where.offset : where.offset + where.size]
    counts = {WAITING: len(waiting)}
    return ReviewsPage(
        tabs=[
            Tab(key=key, label=str(label), here=key == show, count=counts.get(key))
            for key, label in SHOWS
        ],
        show=show,
        state=state,
        text=text,
        states=STATES,
        paged=Paged(rows=[_row(review, waiting) for review in rows], window=where),
    )


def _chosen(access: Access, show: str, waiting: list[UUID]) -> QuerySet[Review]:
    reviews = with_shown_state(visible_reviews(access)).select_related("author", "project")
    reviews = reviews.annotate(runs=Count("subjects")).prefetch_related("reviewers__user")
    if show == WAITING:
        reviews = reviews.filter(pk__in=waiting)
    elif show == MINE:
        reviews = reviews.filter(author=access.user.pk)
    return reviews.order_by("-created_at", "-id")


def _row(review: Review, waiting: dict[UUID, str]) -> ReviewRow:
    """``review`` carries the annotations of ``_chosen``."""
    asked = sorted(r.user.get_username() for r in review.reviewers.all())
    return ReviewRow(
        id=review.id,
        title=review.title,
        state=review.shown_state,  # type: ignore[attr-defined]
        author=review.author.get_username(),
        project=review.project.name,
        runs=review.runs,  # type: ignore[attr-defined]
        reviewers=", ".join(asked),
        review=review,
        awaited=str(AWAITED[waiting[review.pk]]) if review.pk in waiting else "",
    )
