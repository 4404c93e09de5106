"""Reads from the index."""

from uuid import UUID

from django.db.models import QuerySet

from assay.ledger.models import Bundle, Interpretation, Run, Study

SHORTEST_PREFIX = 6


def find_runs(text: str) -> QuerySet[Run]:
    """Runs that ``text`` may mean: a run id, its beginning, or the beginning of a bundle digest.

    Ids are compared without dashes. Fewer than six characters mean nothing.
    """
    wanted = text.strip().lower().replace("-", "")
    if len(wanted) < SHORTEST_PREFIX or set(wanted) - set("0123456789abcdef"):
        return Run.objects.none()
    by_bundle = Bundle.objects.filter(digest__startswith=wanted).values("run_id")
    if len(wanted) > 32:
        return Run.objects.filter(id__in=by_bundle)
    low, high = UUID(wanted.ljust(32, "0")), UUID(wanted.ljust(32, "f"))
    by_id = Run.objects.filter(id__gte=low, id__lte=high)
    return (by_id | Run.objects.filter(id__in=by_bundle)).select_related("study")


def bundle_of(run: Run) -> Bundle | None:
    """The accepted bundle of a run; else the last one that was sealed for it (a lost run's remains)."""
    bundles = Bundle.objects.filter(run=run)
    if run.accepted_execution is not None:
        accepted = bundles.filter(execution_id=run.accepted_execution).first()
        if accepted is not None:
            return accepted
    return bundles.order_by("-sealed_at").first()


def interpretation_of(bundle: Bundle) -> Interpretation | None:
    """The newest reading of a bundle."""
    return bundle.interpretations.order_by("-created_at").first()


def runs_of_newest_study(name: str) -> list[Run]:
    """Finished runs of the newest study of that name, in their recorded order."""
    study = Study.objects.filter(name=name).order_by("-created_at").first()
    if study is None:
        return []
    finished = study.runs.filter(accepted_execution__isnull=False)
    return list(finished.order_by("position", "repetition"))
