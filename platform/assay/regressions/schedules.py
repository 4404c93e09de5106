"""Making and changing schedules. Refuses what could never fire, or would watch nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from assay.analysis.metrics.catalogue import ALL_RULES
from assay.analysis.regression import numeric
from assay.analysis.regression.answers import Better
from assay.regressions.models import Against, Missed, Schedule, Trigger, Watch
from assay.regressions.slots import check_cron
from experiments.errors import refuse

NUMERIC = f"{numeric.RULE}:{numeric.STATISTIC}"  # a deterministic mode: it may not change at all
DEFAULT_WATCHES = (
    "ttft.first_content.client:p50:less",
    "tpot.last_token:p50:less",
    "throughput.output_tokens:rate:more",
    "completion_rate:ratio:more",  # whoever fails is in no latency
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """``watches`` are ``RULE:STATISTIC:less|more``; empty ``cron`` means on demand or on a new version."""

    name: str
    project_id: UUID
    overrides: Sequence[str]
    owner: str
    cron: str = ""
    zone: str = "UTC"
    trigger: Trigger = Trigger.cron
    variable: str = ""
    against: Against = Against.newest
    missed: Missed = Missed.newest
    quiet_from: time | None = None
    quiet_to: time | None = None
    watches: Sequence[str] = DEFAULT_WATCHES


def make(wanted: Wanted) -> Schedule:
    """Raises Refusal, with nothing written."""
    if wanted.trigger is Trigger.cron:
        check_cron(wanted.cron, wanted.zone)
    parsed = [watch_of(text) for text in wanted.watches]
    if not wanted.name.strip():
        raise refuse(
            field="schedule.name", seen="empty", allowed="a name", remedy="Say what it is for."
        )
    try:
        with transaction.atomic():
            schedule = Schedule.objects.create(
                project_id=wanted.project_id,
                name=wanted.name.strip(),
                overrides=list(wanted.overrides),
                trigger=wanted.trigger,
                cron=wanted.cron,
                zone=wanted.zone,
                variable=wanted.variable or _moved_by(wanted.trigger),
                against=wanted.against,
                missed=wanted.missed,
                quiet_from=wanted.quiet_from,
                quiet_to=wanted.quiet_to,
                owner=wanted.owner,
                looked_until=timezone.now(),
            )
            Watch.objects.bulk_create(
                [
                    Watch(schedule=schedule, rule=rule, statistic=statistic, better=better)
                    for rule, statistic, better in parsed
                ]
            )
    except IntegrityError as error:
        raise refuse(
            field="schedule.name",
            seen=wanted.name,
            allowed="a name that no other schedule of the project has",
            remedy="See `assay schedule list`.",
        ) from error
    return schedule


def _moved_by(trigger: Trigger) -> str:
    """What fires on a new version lets the version move: else each firing would begin a segment."""
    return "engine.version" if trigger is Trigger.engine_version else ""


def watch_of(text: str) -> tuple[str, str, str]:
    """Rule, statistic and better direction (empty: none). Raises Refusal for what is none of these."""
    if text == NUMERIC:
        return numeric.RULE, numeric.STATISTIC, ""
    rule, _, rest = text.partition(":")
    statistic, _, better = rest.partition(":")
    if rule not in ALL_RULES:
        raise refuse(
            field="schedule.watch",
            seen=text,
            allowed=f"RULE:STATISTIC:less|more with a rule of `docs/metrics.md`, or {NUMERIC}",
            remedy=f"For instance {DEFAULT_WATCHES[0]}.",
        )
    if not statistic or better not in set(Better):
        raise refuse(
            field="schedule.watch",
            seen=text,
            allowed="RULE:STATISTIC:less|more, less or more being the better direction",
            remedy=f"For instance {DEFAULT_WATCHES[0]}.",
        )
    return rule, statistic, Better(better)


def change(schedule: Schedule, **changed: object) -> Schedule:
    """Other values of its fields, those that ``Wanted`` names. Raises Refusal, with nothing written.

    Answers and baselines stay: what differs in more than the variable begins a new segment by itself.
    """
    for name, value in changed.items():
        setattr(schedule, name, value)
    if schedule.trigger == Trigger.cron:
        check_cron(schedule.cron, schedule.zone)
    if "cron" in changed or "zone" in changed:
        schedule.looked_until = timezone.now()  # no slot of the former times is made up for
    schedule.save()
    return schedule


def pause(schedule: Schedule, *, paused: bool) -> None:
    """Slots that pass while it is paused are not made up for."""
    changed = {"paused": paused} | ({} if paused else {"looked_until": timezone.now()})
    Schedule.objects.filter(pk=schedule.pk).update(**changed)
