"""Loads where a review stands, as the rules of its course look at it."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from assay.ledger.models import GapEntry, Interpretation
from assay.review.checklist import settled
from assay.review.models import ChecklistAnswer, ChecklistItem, Review, Subject
from assay.review.process import Given, Situation, State, VerdictKind

OPEN_GAP = "open"


def situation_of(review: Review) -> Situation:
    """Seven queries, whatever the number of runs."""
    subjects = list(review.subjects.select_related("run__study", "bundle"))
    accepted = set(review.accepted_gaps.values_list("what", flat=True))
    verdicts = review.verdicts.select_related("by").order_by("at", "pk")
    return Situation(
        state=State(review.state),
        authors=authors_of(review, subjects),
        round=review.round,
        verdicts=tuple(
            Given(by=v.by.get_username(), kind=VerdictKind(v.kind), round=v.round) for v in verdicts
        ),
        open_gaps=frozenset(open_gaps(review)) - accepted,
        unanswered=frozenset(item.key for item in unanswered_items(review)),
        outdated=what_changed(review),
    )


def authors_of(review: Review, subjects: Iterable[Subject]) -> frozenset[str]:
    """Who submitted the runs, and who had them carried out."""
    owners = {subject.run.study.owner for subject in subjects}
    return frozenset({review.author.get_username(), *owners} - {""})


def open_gaps(review: Review) -> list[str]:
    """Names of the open gaps of the readings under review, each once, in their order."""
    return list(dict.fromkeys(gap.what for gap in gap_entries(review)))


def gap_entries(review: Review) -> QuerySet[GapEntry]:
    """The open gaps of the very readings that were submitted, run by run."""
    return GapEntry.objects.filter(
        interpretation__bundle__review_subjects__review=review,
        interpretation__definition_version=F(
            "interpretation__bundle__review_subjects__definition_version"
        ),
        state=OPEN_GAP,
    ).order_by("pk")


def unanswered_items(review: Review) -> list[ChecklistItem]:
    answers = ChecklistAnswer.objects.filter(item=OuterRef("pk"))
    items = review.items.annotate(answered=Exists(answers)).order_by("position")
    return [i for i in items if not settled(automatic=i.automatic, answered=i.answered)]


def what_changed(review: Review) -> str:
    """What its runs show now that they did not when they were submitted; empty while nothing changed."""
    changed = outdated_subjects(review.subjects.all()).select_related("run__study").first()
    if changed is None:
        return ""
    where = f"{changed.run.study.name} #{changed.run.position}"
    return f"{where} is read by another definition version or shows another bundle since"


def outdated_subjects(subjects: QuerySet[Subject]) -> QuerySet[Subject]:
    """Subjects whose run shows another bundle, or whose bundle was read by a later version, since."""
    later = Interpretation.objects.filter(bundle=OuterRef("bundle")).exclude(
        definition_version=OuterRef("definition_version")
    )
    submitted = Interpretation.objects.filter(
        bundle=OuterRef(OuterRef("bundle")),
        definition_version=OuterRef(OuterRef("definition_version")),
    )
    newer = later.filter(pk__gt=submitted.values("pk")[:1])
    moved = ~Q(run__accepted_execution=F("bundle__execution_id"))
    return subjects.filter(Q(Exists(newer)) | moved)


def outdated_reviews(review_ids: Iterable[UUID]) -> set[UUID]:
    subjects = outdated_subjects(Subject.objects.filter(review__in=list(review_ids)))
    return set(subjects.values_list("review_id", flat=True))
