"""Schedules, firings and findings as machines read them: what the command line prints, and the API serves."""

from collections.abc import Sequence
from typing import Any, TypedDict

from django.db.models import Max

from assay.analysis.regression.answers import GREEN, Answer
from assay.ledger.models import Run
from assay.regressions.models import CheckRecord, Finding, Firing, FiringState, Schedule
from assay.regressions.queries import answer_document, next_slot
from runners.protocol.events import LIVE_STATES


class ScheduleDocument(TypedDict):
    """``watches`` are ``RULE:STATISTIC:less|more``; ``next`` is null for what fires on no clock."""

    schedule: str
    id: str
    project: str
    overrides: list[str]
    trigger: str
    cron: str | None
    zone: str
    variable: str | None
    against: str
    missed: str
    quiet: str | None
    paused: bool
    next: str | None
    next_note: str
    watches: list[str]


class FiringDocument(TypedDict):
    """``settled``: every run has its last word on every metric; ``green`` only then, and only if all are."""

    firing: int
    schedule: str
    slot: str
    state: str
    study: str | None
    note: str
    settled: bool
    green: bool
    answers: list[dict[str, Any]]


class FindingDocument(TypedDict):
    finding: str
    schedule: str
    schedule_id: str
    run: str
    state: str
    owner: str | None
    opened_at: str
    metrics: list[dict[str, Any]]
    identity: list[dict[str, Any]]
    records: list[str]
    residuals: list[dict[str, Any]]
    steps: list[dict[str, Any]]


def schedule_document(schedule: Schedule) -> ScheduleDocument:
    coming = None if schedule.paused else next_slot(schedule)
    return {
        "schedule": schedule.name,
        "id": str(schedule.pk),
        "project": schedule.project.slug,
        "overrides": schedule.overrides,
        "trigger": schedule.trigger,
        "cron": schedule.cron or None,
        "zone": schedule.zone,
        "variable": schedule.variable or None,
        "against": schedule.against,
        "missed": schedule.missed,
        "quiet": _quiet(schedule),
        "paused": schedule.paused,
        "next": coming.utc.isoformat() if coming else None,
        "next_note": coming.note if coming else "",
        "watches": [
            f"{w.rule}:{w.statistic}:{w.better}".rstrip(":") for w in schedule.watches.all()
        ],
    }


def firing_document(firing: Firing) -> FiringDocument:
    rows = _last_words(firing)
    settled = _settled(firing, rows)
    return {
        "firing": firing.pk,
        "schedule": firing.schedule.name,
        "slot": firing.slot.isoformat(),
        "state": firing.state,
        "study": str(firing.study_id) if firing.study_id else None,
        "note": firing.note,
        "settled": settled,
        "green": settled and bool(rows) and all(row.answer in GREEN for row in rows),
        "answers": [answer_document(row) for row in rows],
    }


def finding_document(finding: Finding) -> FindingDocument:
    return {
        "finding": str(finding.pk),
        "schedule": finding.schedule.name,
        "schedule_id": str(finding.schedule_id),
        "run": str(finding.run_id),
        "state": finding.state,
        "owner": finding.owner or None,
        "opened_at": finding.opened_at.isoformat(),
        "metrics": finding.metrics,
        "identity": finding.identity,
        "records": finding.records,
        "residuals": finding.residuals,
        "steps": [
            {"by": s.by, "state": s.state, "comment": s.comment, "at": s.at.isoformat()}
            for s in sorted(finding.steps.all(), key=lambda step: step.pk)
        ],
    }


def _quiet(schedule: Schedule) -> str | None:
    if schedule.quiet_from is None or schedule.quiet_to is None:
        return None
    return f"{schedule.quiet_from:%H:%M}-{schedule.quiet_to:%H:%M}"


def _last_words(firing: Firing) -> list[CheckRecord]:
    """The last row of each run and metric of one firing."""
    last = firing.checks.values("watch", "run").annotate(last=Max("pk")).values("last")
    rows = CheckRecord.objects.filter(pk__in=last).select_related("watch")
    return list(rows.order_by("watch__rule", "watch__statistic", "run"))


def _settled(firing: Firing, rows: Sequence[CheckRecord]) -> bool:
    """A slot without a study is settled once its metrics are written down as missing."""
    if firing.state == FiringState.waiting or any(r.answer == Answer.suspected for r in rows):
        return False
    watched = firing.schedule.watches.count()
    if firing.study_id is None:
        return len(rows) >= watched
    states = list(Run.objects.filter(study=firing.study_id).values_list("state", flat=True))
    ended = not any(state in LIVE_STATES for state in states)
    return ended and len(rows) >= watched * len(states)
