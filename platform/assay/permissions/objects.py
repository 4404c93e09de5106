"""To which projects the things belong that an address may name. A new kind of thing needs its line here."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from django.db.models.functions import Coalesce

from assay.ledger.models import Bundle, Run, Study
from assay.regressions.models import Finding, Schedule
from assay.review.models import Review, Thread


def _of_run(run_id: UUID) -> Iterable[UUID]:
    return Run.objects.filter(id=run_id).values_list("study__project_id", flat=True)


def _of_study(study_id: UUID) -> Iterable[UUID]:
    return Study.objects.filter(id=study_id).values_list("project_id", flat=True)


def _of_artifact(digest: str) -> Iterable[UUID]:
    found = Run.objects.filter(artifact__digest=digest)
    return found.values_list("study__project_id", flat=True).distinct()


def _of_bundle(bundle_digest: str) -> Iterable[UUID]:
    found = Bundle.objects.filter(digest=bundle_digest, run__isnull=False)
    return found.values_list("run__study__project_id", flat=True)


def _of_review(review_id: UUID) -> Iterable[UUID]:
    return Review.objects.filter(id=review_id).values_list("project_id", flat=True)


def _of_thread(thread_id: UUID) -> Iterable[UUID]:
    found = Thread.objects.filter(id=thread_id)
    project = Coalesce("run__study__project_id", "review__project_id")
    return found.values_list(project, flat=True)


def _of_schedule(schedule_id: UUID) -> Iterable[UUID]:
    return Schedule.objects.filter(id=schedule_id).values_list("project_id", flat=True)


def _of_finding(finding_id: UUID) -> Iterable[UUID]:
    found = Finding.objects.filter(id=finding_id)
    return found.values_list("schedule__project_id", flat=True)


# name in a URL pattern -> the projects of what it names; none: there is no such thing
LOOKUPS: dict[str, Callable[[Any], Iterable[UUID]]] = {
    "run_id": _of_run,
    "study_id": _of_study,
    "digest": _of_artifact,
    "bundle_digest": _of_bundle,
    "review_id": _of_review,
    "thread_id": _of_thread,
    "schedule_id": _of_schedule,
    "finding_id": _of_finding,
}
