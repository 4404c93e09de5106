"""To which projects the things belong that an address may name. A new kind of thing needs its line here."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from assay.ledger.models import Run, Study


def _of_run(run_id: UUID) -> Iterable[UUID]:
    return Run.objects.filter(id=run_id).values_list("study__project_id", flat=True)


def _of_study(study_id: UUID) -> Iterable[UUID]:
    return Study.objects.filter(id=study_id).values_list("project_id", flat=True)


def _of_artifact(digest: str) -> Iterable[UUID]:
    found = Run.objects.filter(artifact__digest=digest)
    return found.values_list("study__project_id", flat=True).distinct()


# name in a URL pattern -> the projects of what it names; none: there is no such thing
LOOKUPS: dict[str, Callable[[Any], Iterable[UUID]]] = {
    "run_id": _of_run,
    "study_id": _of_study,
    "digest": _of_artifact,
}
