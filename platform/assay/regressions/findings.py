"""A confirmed change becomes one finding for all metrics that moved together; people say what it is."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from assay.analysis.regression.answers import Answer
from assay.archive.paths import Home
from assay.ledger.models import Run
from assay.ledger.queries import bundle_of, interpretation_of
from assay.notifications.models import Event
from assay.notifications.services import notify
from assay.regressions.models import CheckRecord, Finding, FindingStep, Schedule
from assay.regressions.ran_differences import ran_differences
from assay.regressions.reading import metric_name, segment_digest, start_of
from assay.versions.between import records_between
from experiments.diff import Verdict, compare
from experiments.errors import refuse

STEPS: dict[str, tuple[str, ...]] = {
    "open": ("acknowledged", "expected", "fixed"),
    "acknowledged": ("expected", "fixed", "open"),
    "expected": ("open",),
    "fixed": ("open",),
}
STILL_OPEN = ("open", "acknowledged")


@transaction.atomic
def open_for(
    run: Run, schedule: Schedule, rows: Sequence[CheckRecord], *, before: Run
) -> Finding | None:
    """One finding for the confirmed rows of one run; those of an open one of the same segment join it.

    ``before`` is the last run of what they were held against.
    """
    confirmed = [r for r in rows if r.answer == Answer.confirmed]
    if not confirmed:
        return None
    home = Home(settings.HOME)
    segment = segment_digest(start_of(run, home, variable=schedule.variable or None))
    metrics = [
        {"metric": metric_name(r.watch), "change": r.change, "reason": r.reason} for r in confirmed
    ]
    found = schedule.findings.filter(segment=segment, state__in=STILL_OPEN).first()
    if found is None:
        found = Finding.objects.create(
            schedule=schedule,
            run=run,
            metrics=metrics,
            segment=segment,
            identity=[*_identity(before, run, schedule), *ran_differences(home, before, run)],
            records=records_between(run.engine_key, before.engine_version, run.engine_version),
            residuals=_residuals(before, run),
        )
        _tell(found)
    else:
        known = {m["metric"] for m in found.metrics}
        found.metrics = [*found.metrics, *(m for m in metrics if m["metric"] not in known)]
        found.save(update_fields=["metrics"])
    CheckRecord.objects.filter(pk__in=[r.pk for r in confirmed]).update(finding=found)
    return found


def _tell(found: Finding) -> None:
    moved = ", ".join(_in_words(m) for m in found.metrics)
    notify(
        Event.finding_opened,
        found.schedule.project_id,
        f"{found.schedule.name}: {moved}",
        f"/findings/{found.pk}",
    )


def _in_words(metric: Mapping[str, Any]) -> str:
    change = metric["change"]
    return f"{metric['metric']} {'changed' if change is None else f'{change:+.1%}'}"


@transaction.atomic
def move(finding_id: UUID, state: str, *, by: str, comment: str = "") -> Finding:
    """Raises Refusal for a step that does not exist, and for a last word without a comment."""
    finding = Finding.objects.select_for_update().get(pk=finding_id)
    if state not in STEPS[finding.state]:
        raise refuse(
            field="finding.state",
            seen=f"{finding.state} to {state}",
            allowed=", ".join(STEPS[finding.state]),
            remedy="Open it again first.",
        )
    if state in ("expected", "fixed") and not comment.strip():
        raise refuse(
            field="finding.comment",
            seen="empty",
            allowed="why it is expected, or what fixed it",
            remedy="Say it in a sentence: whoever comes later has nothing else.",
        )
    FindingStep.objects.create(finding=finding, by=by, state=state, comment=comment)
    finding.state = state
    if state == "acknowledged":
        finding.owner = by
    finding.save(update_fields=["state", "owner"])
    return finding


def _identity(before: Run, after: Run, schedule: Schedule) -> list[dict[str, object]]:
    """The declared fields in which the two runs differ, each with its verdict."""
    declared = [schedule.variable] if schedule.variable else []
    fields = compare(before.spec, after.spec, declared=declared).fields
    return [
        {"field": f.path, "before": f.left, "after": f.right, "verdict": f.verdict.value}
        for f in fields
        if f.verdict is not Verdict.same
    ]


def _residuals(before: Run, after: Run) -> list[dict[str, object]]:
    """Quantities that both runs predicted and measured, the one that moved furthest first."""
    old, new = _relative(before), _relative(after)
    moved = [
        {"quantity": name, "before": old[name], "after": new[name]} for name in new if name in old
    ]
    return sorted(moved, key=lambda m: -abs(float(m["after"]) - float(m["before"])))  # type: ignore[arg-type]


def _relative(run: Run) -> dict[str, float]:
    bundle = bundle_of(run)
    reading = interpretation_of(bundle) if bundle is not None else None
    rows = reading.residuals.exclude(relative=None) if reading is not None else []
    return {row.quantity: row.relative for row in rows if row.relative is not None}
