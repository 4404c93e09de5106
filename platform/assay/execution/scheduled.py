"""What a tick of the scheduler does: slots become studies, ended runs get their answers."""

from collections.abc import Sequence

from django.conf import settings
from django.utils import timezone

from assay.archive.paths import Home
from assay.execution.composing import Wanted, planned
from assay.execution.submitting import once_more, queue_study
from assay.ledger.models import Run, Study
from assay.regressions import checking, firing
from assay.regressions.models import CheckRecord, Firing, Schedule

FRESH_START_TAG = "fresh start"


def tick() -> tuple[list[Firing], list[CheckRecord]]:
    """Once a minute, on any number of machines."""
    fired = firing.tick(timezone.now(), submit)
    added: list[CheckRecord] = []
    for schedule in Schedule.objects.all():
        added += checking.look(schedule, Home(settings.HOME), rerun)
    return fired, added


def declared(overrides: Sequence[str]) -> Wanted:
    """What a schedule composes, when it is made and each time it fires."""
    return Wanted(overrides=tuple(overrides), sweep=True)


def submit(schedule: Schedule) -> Study:
    """Compose the schedule's declaration as it is now and queue it. Raises Refusal."""
    return queue_study(
        planned(declared(schedule.overrides)),
        overrides=schedule.overrides,
        owner=schedule.owner,
        project_id=schedule.project_id,
    )


def rerun(run: Run) -> Study:
    """The same declaration as a fresh start of its own, beside the series and not in it. Raises Refusal."""
    study = queue_study(
        [once_more(run)],
        overrides=run.study.overrides,
        owner=run.study.owner,
        project_id=run.study.project.id,
    )
    study.tags = [*study.tags, FRESH_START_TAG]
    study.save(update_fields=["tags"])
    return study
