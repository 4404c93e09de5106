"""Reads of schedules, answers and findings."""

from typing import Any

from django.db.models import Max, QuerySet
from django.utils import timezone

from assay.accounts.access import Access
from assay.analysis.regression.answers import GREEN
from assay.regressions.models import CheckRecord, Finding, Schedule, Trigger, Watch
from assay.regressions.reading import metric_name
from assay.regressions.slots import Slot, upcoming


def visible_schedules(access: Access) -> QuerySet[Schedule]:
    found = Schedule.objects.all()
    return found if access.everywhere else found.filter(project_id__in=access.project_ids())


def visible_findings(access: Access) -> QuerySet[Finding]:
    return Finding.objects.filter(schedule__in=visible_schedules(access))


def latest_answers(schedule: Schedule) -> list[CheckRecord]:
    """The last row of each (firing, run, metric), newest firing first."""
    last = (
        CheckRecord.objects.filter(watch__schedule=schedule)
        .values("watch", "firing", "run")
        .annotate(last=Max("pk"))
        .values("last")
    )
    rows = CheckRecord.objects.filter(pk__in=last).select_related("watch", "firing", "baseline")
    return list(rows.order_by("-firing__slot", "watch__rule", "watch__statistic"))


def answers_of(watch: Watch) -> list[CheckRecord]:
    """The last row of each (firing, run) of one metric, oldest firing first."""
    last = watch.checks.values("firing", "run").annotate(last=Max("pk")).values("last")
    rows = CheckRecord.objects.filter(pk__in=last).select_related("firing", "baseline")
    return list(rows.order_by("firing__slot", "pk"))


def answer_document(row: CheckRecord) -> dict[str, Any]:
    """One answer as the command line gives it."""
    return {
        "run": str(row.run_id) if row.run_id else None,
        "metric": metric_name(row.watch),
        "answer": row.answer,
        "green": row.answer in GREEN,
        "value": row.value,
        "change": row.change,
        "reason": row.reason,
        "finding": str(row.finding_id) if row.finding_id else None,
    }


def next_slot(schedule: Schedule) -> Slot | None:
    if schedule.trigger != Trigger.cron:
        return None
    return next(upcoming(schedule.cron, schedule.zone, after=timezone.now()), None)
