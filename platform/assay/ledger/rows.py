"""Studies and runs as rows of a list, for ``assay list`` and the API. A fixed number of queries a page."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet

from assay.ledger.models import Bundle, Run, Study
from assay.ledger.shown import shown_bundles

IN_ORDER = ("-created_at", "-id")


def with_names(runs: QuerySet[Run]) -> QuerySet[Run]:
    """What a row needs, without the declaration: that may be large."""
    return runs.select_related("study__project").defer("spec").order_by(*IN_ORDER)


def run_rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    bundles = shown_bundles(runs)
    return [run_row(run, bundles.get(run.id)) for run in runs]


def run_row(run: Run, bundle: Bundle | None) -> dict[str, Any]:
    """A run without a bundle has a null there, and ``reason`` says why where it is known."""
    return {
        "run": str(run.id),
        "study": run.study.name,
        "study_id": str(run.study_id),
        "project": run.study.project.slug,
        "author": run.study.owner or None,
        "tags": list(run.study.tags),
        "position": run.position,
        "repetition": run.repetition,
        "variables": run.variables,
        "state": run.state,
        "reason": run.state_reason or None,
        "progress": run.progress,
        "artifact": run.artifact_name,
        "engine": run.engine_key,
        "engine_version": run.engine_version,
        "device": run.device_name,
        "spec_digest": run.spec_digest,
        "bundle_digest": bundle.digest if bundle else None,
        "level": bundle.level if bundle else None,
        "created_at": moment(run.created_at),
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
    }


def with_counts(studies: QuerySet[Study]) -> QuerySet[Study]:
    counted = studies.annotate(run_count=Count("runs"))
    return counted.select_related("project").order_by(*IN_ORDER)


def study_row(study: Study) -> dict[str, Any]:
    """``study`` is the id: a name may be that of many."""
    return {
        "study": str(study.id),
        "name": study.name,
        "title": study.title or None,
        "question": study.question or None,
        "project": study.project.slug,
        "author": study.owner or None,
        "tags": list(study.tags),
        "overrides": list(study.overrides),
        "order_seed": study.order_seed,
        "runs": study.run_count,  # type: ignore[attr-defined]
        "created_at": moment(study.created_at),
    }


def moment(time: datetime | None) -> str | None:
    """UTC, as ISO 8601 has it."""
    return time.isoformat().replace("+00:00", "Z") if time else None
