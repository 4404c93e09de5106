"""Reads of reviews: their states as people see them, whom they wait for, what is said of a run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Value, When
from django.db.models.fields import CharField

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.ledger.queries import SHORTEST_PREFIX
from assay.review.models import Note, Review, Reviewer, Subject, Tag, Thread, Verdict
from assay.review.process import STALE, UNDECIDED, State
from assay.review.situation import outdated_subjects


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReview:
    """The newest review of a run; ``state`` may be ``stale``, which is never stored."""

    review_id: UUID
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A review and what it waits for, from one person: verdict | sign-off | answer."""

    review: Review
    awaited: str


def visible_reviews(access: Access) -> QuerySet[Review]:
    reviews = Review.objects.all()
    return reviews if access.everywhere else reviews.filter(project_id__in=access.project_ids())


def find_reviews(text: str, access: Access) -> QuerySet[Review]:
    """Reviews that ``text`` may mean: an id or its beginning of six characters or more."""
    wanted = text.strip().lower().replace("-", "")
    if not SHORTEST_PREFIX <= len(wanted) <= 32 or set(wanted) - set("0123456789abcdef"):
        return Review.objects.none()
    low, high = UUID(wanted.ljust(32, "0")), UUID(wanted.ljust(32, "f"))
    return visible_reviews(access).filter(id__gte=low, id__lte=high).order_by("created_at")


def with_shown_state(reviews: QuerySet[Review]) -> QuerySet[Review]:
    """Each with ``shown_state``: as stored, but ``stale`` for a sign-off that its runs have left behind."""
    outdated = Exists(outdated_subjects(Subject.objects.filter(review=OuterRef("pk"))))
    return reviews.annotate(
        shown_state=Case(
            When(Q(state=State.signed_off) & outdated, then=Value(STALE)),
            default="state",
            output_field=CharField(),
        )
    )


def in_shown_state(reviews: QuerySet[Review], state: str) -> QuerySet[Review]:
    """Of reviews that carry their shown state."""
    return reviews.filter(shown_state=state)  # type: ignore[misc]  # an annotation, not a field


def states_of(run_ids: Iterable[UUID]) -> dict[UUID, RunReview]:
    """Run id -> its newest review, for those that have one. One query.

    A withdrawn or superseded review shows only where there is no other.
    """
    ended = Q(review__state__in=[State.withdrawn, State.superseded])
    outdated = Exists(outdated_subjects(Subject.objects.filter(review=OuterRef("review"))))
    rows = (
        Subject.objects.filter(run__in=list(run_ids))
        .annotate(outdated=outdated, ended=Case(When(ended, then=Value(0)), default=Value(1)))
        .order_by("ended", "review__created_at", "review_id")
        .values_list("run_id", "review_id", "review__state", "outdated")
    )
    return {
        run: RunReview(review_id=review, state=STALE if _stale(state, outdated) else state)
        for run, review, state, outdated in rows
    }


def _stale(state: str, outdated: bool) -> bool:
    return outdated and state == State.signed_off


def reviews_waiting(access: Access) -> list[Waiting]:
    """What waits for whoever asks: a verdict or a sign-off of theirs, or their answer as the author."""
    name, user_id = access.user.get_username(), access.user.pk
    if user_id is None:
        return []
    undecided = (
        visible_reviews(access)
        .filter(state__in=UNDECIDED)
        .select_related("author", "project")
        .annotate(
            asked=Exists(Reviewer.objects.filter(review=OuterRef("pk"), user=user_id)),
            asks_nobody=~Exists(Reviewer.objects.filter(review=OuterRef("pk"))),
            own=Exists(Subject.objects.filter(review=OuterRef("pk"), run__study__owner=name)),
            judged=Exists(
                Verdict.objects.filter(review=OuterRef("pk"), by=user_id, round=OuterRef("round"))
            ),
        )
        .order_by("created_at")
    )
    found = ((review, _awaited(review, access)) for review in undecided)
    return [Waiting(review=review, awaited=awaited) for review, awaited in found if awaited]


def _awaited(review: Review, access: Access) -> str:
    """``review`` carries the annotations of ``reviews_waiting``."""
    if review.author_id == access.user.pk or review.own:  # type: ignore[attr-defined]
        return "answer" if review.state == State.changes_requested else ""
    able = access.may(Action.review, review.project_id)
    if not able or not (review.asked or review.asks_nobody):  # type: ignore[attr-defined]
        return ""
    if review.state == State.approved:
        return "sign-off"
    judged = review.judged and review.state != State.disputed  # type: ignore[attr-defined]
    return "" if judged else "verdict"


def threads_of(*, runs: Sequence[UUID] = (), review: UUID | None = None) -> list[Thread]:
    """Threads about these runs and about that review's statement, oldest first, with their comments."""
    about = Q(run__in=list(runs))
    if review is not None:
        about |= Q(review=review)
    found = Thread.objects.filter(about).select_related("by", "run__study").order_by("at", "pk")
    return list(found.prefetch_related("comments__by"))


def thread_counts(run_id: UUID) -> dict[tuple[str, str], int]:
    """Place of a run -> threads about it. One query."""
    counts: dict[tuple[str, str], int] = {}
    for place in Thread.objects.filter(run=run_id).values_list("kind", "key"):
        counts[place] = counts.get(place, 0) + 1
    return counts


def tags_of(run_ids: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Run id -> its tags by name, for runs that have any. One query."""
    found: dict[UUID, list[str]] = {}
    rows = Tag.objects.filter(run__in=list(run_ids)).order_by("name")
    for run_id, name in rows.values_list("run_id", "name"):
        if run_id is not None:
            found.setdefault(run_id, []).append(name)
    return found


def notes_of(*, run: UUID | None = None, study: UUID | None = None) -> list[Note]:
    about = Q(run=run) if run is not None else Q(study=study)
    return list(Note.objects.filter(about).select_related("by").order_by("at", "pk"))
