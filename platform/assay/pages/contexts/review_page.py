"""One review: the statement, its runs, what they are asked, what was said, what the reader may do."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.shortcuts import get_object_or_404

from assay.accounts.access import Access
from assay.ledger.models import GapEntry
from assay.pages.contexts.review_threads import ThreadView, thread_views
from assay.pages.contexts.run_rows import RunRow, run_rows
from assay.review.checklist import Answer, settled
from assay.review.models import (
    AuditEntry,
    ChecklistAnswer,
    ChecklistItem,
    GapAcceptance,
    Review,
    SignOff,
    Subject,
    Verdict,
)
from assay.review.process import UNDECIDED, Act, Situation, Step, take
from assay.review.queries import threads_of, visible_reviews, with_shown_state
from assay.review.rights import NEEDS, possible_reviewers
from assay.review.situation import gap_entries, situation_of
from experiments.errors import Finding, Refusal

TYPED = ("step", "words", "what", "item", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    item: ChecklistItem
    answer: ChecklistAnswer | None
    earlier: int  # answers before the one that counts

    @property
    def settled(self) -> bool:
        return settled(automatic=self.item.automatic, answered=self.answer is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapView:
    what: str
    affects: str
    needed: str
    runs: list[str]
    accepted: GapAcceptance | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectView:
    subject: Subject
    row: RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """A step that the reader has the right to; ``against`` is what stands in its way now, if anything."""

    step: str
    against: Finding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPage:
    review: Review
    state: str
    situation: Situation
    subjects: list[SubjectView]
    items: list[ItemView]
    gaps: list[GapView]
    threads: list[ThreadView]
    verdicts: list[Verdict]
    audit: list[AuditEntry]
    sign_off: SignOff | None
    later: Review | None  # the one that superseded it, or means to
    reviewers: list[str]
    able: list[str]  # who may still be asked
    may: dict[str, Allowed]
    may_write: bool
    answers: tuple[str, ...] = tuple(answer.value for answer in Answer)
    refused: Sequence[Finding]
    typed: dict[str, str]  # what was typed into the form that was refused; TYPED names its fields

    @property
    def undecided(self) -> bool:
        return self.review.state in UNDECIDED

    @property
    def unsettled(self) -> list[ItemView]:
        return [view for view in self.items if not view.settled]

    @property
    def settled(self) -> list[ItemView]:
        return [view for view in self.items if view.settled]

    @property
    def unaccepted(self) -> int:
        return sum(gap.accepted is None for gap in self.gaps)

    @property
    def unresolved(self) -> int:
        return sum(not thread.resolved for thread in self.threads)


def review_page(
    review_id: UUID,
    access: Access,
    *,
    refused: Sequence[Finding] = (),
    typed: dict[str, str] | None = None,
) -> ReviewPage:
    """Raises Http404 for an unknown review. A fixed number of queries, whatever the number of runs."""
    found = with_shown_state(visible_reviews(access))
    review = get_object_or_404(
        found.select_related("author", "project", "supersedes", "sign_off__by"), pk=review_id
    )
    now = situation_of(review)
    subjects = list(review.subjects.select_related("run__study", "bundle").order_by("pk"))
    reviewers = list(review.reviewers.order_by("pk").values_list("user__username", flat=True))
    reader = access.user.get_username()
    return ReviewPage(
        review=review,
        state=review.shown_state,  # type: ignore[attr-defined]
        situation=now,
        subjects=_subjects(subjects),
        items=_items(review),
        gaps=_gaps(review, subjects),
        threads=thread_views(
            threads_of(runs=[s.run_id for s in subjects], review=review.id), reader=reader
        ),
        verdicts=list(review.verdicts.select_related("by").order_by("-at", "-pk")),
        audit=list(review.audit.select_related("by").order_by("pk")),
        sign_off=getattr(review, "sign_off", None),
        later=review.superseded_by.order_by("-created_at").first(),
        reviewers=reviewers,
        able=[
            name
            for user in possible_reviewers(review.project)
            if (name := user.get_username()) not in now.authors and name not in reviewers
        ],
        may=_may(review, now, access),
        may_write=access.may(NEEDS[Step.ask], review.project_id),
        refused=refused,
        typed={name: (typed or {}).get(name, "") for name in TYPED},
    )


def _subjects(subjects: list[Subject]) -> list[SubjectView]:
    runs = [subject.run for subject in subjects]
    rows = {row.id: row for row in run_rows(runs)}
    return [SubjectView(subject=s, row=rows[s.run_id]) for s in subjects]


def _items(review: Review) -> list[ItemView]:
    items = review.items.order_by("position").prefetch_related("answers__by")
    views = []
    for item in items:
        answers = sorted(item.answers.all(), key=lambda a: a.pk)
        views.append(
            ItemView(
                item=item,
                answer=answers[-1] if answers else None,
                earlier=max(0, len(answers) - 1),
            )
        )
    return views


def _gaps(review: Review, subjects: list[Subject]) -> list[GapView]:
    """Each open gap once, with the runs that have it."""
    names = {s.bundle_id: f"{s.run.study.name} #{s.run.position}" for s in subjects}
    accepted = {a.what: a for a in review.accepted_gaps.select_related("by")}
    by_name: dict[str, list[GapEntry]] = {}
    for gap in gap_entries(review).select_related("interpretation"):
        by_name.setdefault(gap.what, []).append(gap)
    return [
        GapView(
            what=what,
            affects=rows[0].affects,
            needed=rows[0].needed,
            runs=[names[row.interpretation.bundle_id] for row in rows],
            accepted=accepted.get(what),
        )
        for what, rows in by_name.items()
    ]


def _may(review: Review, now: Situation, access: Access) -> dict[str, Allowed]:
    """Steps that this reader has the right to in this state, with what stands against each."""
    found = {}
    for step in Step:
        if step in (Step.submit, Step.supersede, Step.accept_gap, Step.answer_item):
            continue
        if not access.may(NEEDS[step], review.project_id):
            continue
        try:
            take(now, Act(step=step, by=access.user.get_username(), words="tried"))
            found[step.value] = Allowed(step=step.value, against=None)
        except Refusal as refusal:
            finding = refusal.findings[0]
            if finding.field not in ("state", "by"):
                found[step.value] = Allowed(step=step.value, against=finding)
    judges = access.user.get_username() not in now.authors
    if now.state in UNDECIDED and judges and access.may(NEEDS[Step.accept_gap], review.project_id):
        found[Step.accept_gap.value] = Allowed(step=Step.accept_gap.value, against=None)
    if now.state in UNDECIDED and access.may(NEEDS[Step.answer_item], review.project_id):
        found[Step.answer_item.value] = Allowed(step=Step.answer_item.value, against=None)
    return found
