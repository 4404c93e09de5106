"""What a tick of the scheduler does: slots become studies, ended runs get their answers."""

import logging
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils import timezone

from assay.archive.installed_engines import installed_versions
from assay.archive.paths import Home
from assay.execution import registration
from assay.execution.composing import Wanted, planned
from assay.execution.submitting import once_more, queue_study
from assay.ledger.models import Run, Study
from assay.regressions import bisecting, checking, firing, looking_back
from assay.regressions.models import Bisection, CheckRecord, Firing, Schedule, Trigger
from assay.regressions.new_versions import write_versions
from experiments.errors import Refusal

log = logging.getLogger(__name__)
FRESH_START_TAG = "fresh start"


def tick() -> tuple[list[Firing], list[CheckRecord]]:
    """Once a minute, on any number of machines."""
    now, home = timezone.now(), Home(settings.HOME)
    for schedule in Schedule.objects.filter(trigger=Trigger.engine_version, paused=False):
        look_for_versions(schedule)
    fired = firing.tick(now, submit)
    added: list[CheckRecord] = []
    for schedule in Schedule.objects.all():
        added += checking.look(schedule, home, rerun)
        looking_back.look_back(schedule, now)
    for bisection in Bisection.objects.filter(state="running"):
        bisecting.look(bisection, home, start_version)
    return fired, added


def look_for_versions(schedule: Schedule) -> list[Firing]:
    """A firing for each version of its engine that was installed since; see ``regressions.new_versions``."""
    try:
        engine = engine_of(schedule)
    except Refusal as refusal:
        log.warning("schedule %s: its declaration does not hold: %s", schedule.name, refusal)
        return []
    installed = installed_versions(Home(settings.HOME), engine, _offered())
    return write_versions(schedule, str(engine["version"]), installed, timezone.now())


def _offered() -> list[tuple[str, dict[str, Any]]]:
    """The engines of the workers that serve now, as notes of an installation, each with its kind."""
    return [
        (
            engine.environment,
            {
                "pin": {"key": engine.key, "version": engine.version, "variant": engine.variant},
                "lock_sha256": engine.lock_sha256,
            },
        )
        for offer in registration.live_offers()
        for engine in offer.engines
    ]


def engine_of(schedule: Schedule) -> dict[str, Any]:
    """What its declaration says of the engine now. Raises Refusal."""
    found: dict[str, Any] = planned(declared(schedule.overrides))[0].document["engine"]
    return found


def declared(overrides: Sequence[str]) -> Wanted:
    """What a schedule composes, when it is made and each time it fires."""
    return Wanted(overrides=tuple(overrides), sweep=True)


def submit(schedule: Schedule, more: Sequence[str] = ()) -> Study:
    """Compose the schedule's declaration as it is now and queue it. Raises Refusal."""
    overrides = on_top(schedule.overrides, more)
    return queue_study(
        planned(declared(overrides)),
        overrides=overrides,
        owner=schedule.owner,
        project_id=schedule.project_id,
    )


def start_version(bisection: Bisection, version: str) -> Study:
    """A fresh start of the schedule's declaration with another version of the engine. Raises Refusal."""
    finding = bisection.finding
    overrides = on_top(finding.schedule.overrides, bisection.overrides[version])
    specs = planned(declared(overrides))
    study = queue_study(
        [next(s for s in specs if s.position == finding.run.position)],
        overrides=overrides,
        owner=bisection.asked_by,
        project_id=finding.schedule.project_id,
    )
    return _beside_the_series(study)


def on_top(overrides: Sequence[str], more: Sequence[str]) -> list[str]:
    """Both, where a key that both have goes by the second."""
    keys = {override.partition("=")[0] for override in more}
    return [*(o for o in overrides if o.partition("=")[0] not in keys), *more]


def rerun(run: Run) -> Study:
    """The same declaration as a fresh start of its own, beside the series and not in it. Raises Refusal."""
    study = queue_study(
        [once_more(run)],
        overrides=run.study.overrides,
        owner=run.study.owner,
        project_id=run.study.project.id,
    )
    return _beside_the_series(study)


def _beside_the_series(study: Study) -> Study:
    study.tags = [*study.tags, FRESH_START_TAG]
    study.save(update_fields=["tags"])
    return study
