"""Which rows of the index somebody may see: those of the projects they are in."""

from django.db.models import QuerySet

from assay.accounts.access import Access
from assay.ledger.models import Artifact, Run, Study


def visible_studies(access: Access) -> QuerySet[Study]:
    studies = Study.objects.all()
    return studies if access.everywhere else studies.filter(project_id__in=access.project_ids())


def visible_runs(access: Access) -> QuerySet[Run]:
    runs = Run.objects.all()
    return runs if access.everywhere else runs.filter(study__project_id__in=access.project_ids())


def visible_artifacts(access: Access) -> QuerySet[Artifact]:
    """Artifacts that a visible run served."""
    artifacts = Artifact.objects.all()
    if access.everywhere:
        return artifacts
    return artifacts.filter(id__in=visible_runs(access).values("artifact_id"))
