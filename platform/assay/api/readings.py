"""What was read of a run, part by part. A run that was not read yet says why in ``reason``."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Router, Schema

from assay.analysis.documents import RunReading
from assay.api.errors import answers
from assay.archive.paths import Home
from assay.archive.stored_reading import StoredReading
from assay.ledger import queries
from assay.ledger.models import Run
from assay.ledger.run_objects import newest_reading

router = Router(tags=["readings"])


class Reading(Schema):
    """``definition_version`` is null, and the list empty, where there is no reading; ``reason`` says why."""

    run: UUID
    definition_version: str | None
    reason: str | None


class Aggregates(Reading):
    aggregates: list[dict[str, Any]]


class Residuals(Reading):
    residuals: list[dict[str, Any]]


class Gaps(Reading):
    gaps: list[dict[str, Any]]


class Identity(Reading):
    """The eight items of the run with their evidence, and the artifact as its bytes were verified."""

    identity: list[dict[str, Any]]
    artifact: dict[str, Any] | None


class Reconciled(Reading):
    reconciliation: dict[str, Any] | None
    ledger_counts: dict[str, dict[str, int]] | None


@router.get("/{uuid:run_id}/aggregates", response=answers(Aggregates))
def get_aggregates(
    request: HttpRequest, run_id: UUID, rule: str | None = None, statistic: str | None = None
) -> dict[str, Any]:
    """Every number of the run with its passport; ``rule`` and ``statistic`` choose among them."""
    found = _part(run_id, "aggregates")
    rows = found["aggregates"]
    chosen = [r for r in rows if rule in (None, r["rule"]) and statistic in (None, r["statistic"])]
    return {**found, "aggregates": chosen}


@router.get("/{uuid:run_id}/residuals", response=answers(Residuals))
def get_residuals(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """Predictions registered before the launch, beside what was measured."""
    return _part(run_id, "residuals")


@router.get("/{uuid:run_id}/gaps", response=answers(Gaps))
def get_gaps(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """What is not known, what that weakens, and what it would take."""
    return _part(run_id, "gaps")


@router.get("/{uuid:run_id}/identity", response=answers(Identity))
def get_identity(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """What ran: each item with its evidence."""
    run = _run(run_id)
    document = run.artifact.document if run.artifact else None
    return {**_part(run_id, "identity"), "artifact": document}


@router.get("/{uuid:run_id}/reconciliation", response=answers(Reconciled))
def get_reconciliation(request: HttpRequest, run_id: UUID) -> dict[str, Any]:
    """How many requests there were at each step, and the final states of the four ledgers."""
    reading, head = reading_of(run_id)
    document: RunReading | None = reading.run() if reading else None
    names = ("reconciliation", "ledger_counts")
    return {**head, **{name: document[name] if document else None for name in names}}  # type: ignore[literal-required]


def reading_of(run_id: UUID) -> tuple[StoredReading | None, dict[str, Any]]:
    """The newest reading of a run, and the fields of ``Reading`` that say which, or why there is none."""
    run = _run(run_id)
    bundle = queries.bundle_of(run)
    reading = newest_reading(bundle, Home(settings.HOME)) if bundle else None
    head: dict[str, Any] = {"run": run.id, "definition_version": None, "reason": None}
    if reading is not None:
        return reading, {**head, "definition_version": reading.folder.name}
    if bundle is None:
        reason = (
            f"no bundle: the run is {run.state}{': ' if run.state_reason else ''}{run.state_reason}"
        )
    else:
        reason = "the bundle has no interpretation on this server"
    return None, {**head, "reason": reason}


def _part(run_id: UUID, name: str) -> dict[str, Any]:
    reading, head = reading_of(run_id)
    rows: Any = reading.run()[name] if reading else []  # type: ignore[literal-required]
    return {**head, name: rows}


def _run(run_id: UUID) -> Run:
    return get_object_or_404(Run.objects.select_related("artifact"), id=run_id)
