"""A schedule that fires on a new engine version: each newer one that is installed, once.

New is what is newer than the version that the schedule declares and than any that it fired for. The unique
key (schedule, version) keeps two ticks, or an environment that is made again, from firing twice.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from assay.archive.installed_engines import InstalledVersion
from assay.regressions.firing import held_until
from assay.regressions.models import Firing, FiringState, Schedule
from experiments.changes.catalogue import parsed


def write_versions(
    schedule: Schedule, declared: str, installed: Sequence[InstalledVersion], now: datetime
) -> list[Firing]:
    """The firings of versions that are new, oldest first; nothing for who comes second."""
    fired = schedule.firings.exclude(version="").values_list("version", flat=True)
    newest = max(parsed(version) for version in (declared, *fired))
    new = {i.version: i for i in installed if parsed(i.version) > newest}
    found = [
        _firing(schedule, new[version], now + timedelta(microseconds=place))
        for place, version in enumerate(sorted(new, key=parsed))
    ]
    Firing.objects.bulk_create(found, ignore_conflicts=True)
    return list(schedule.firings.filter(version__in=new).order_by("slot"))


def _firing(schedule: Schedule, installed: InstalledVersion, now: datetime) -> Firing:
    due = held_until(schedule, now)
    note = f"{installed.environment} has version {installed.version}"
    return Firing(
        schedule=schedule,
        slot=now,
        due_at=due,
        state=FiringState.waiting,
        version=installed.version,
        overrides=list(installed.overrides),
        note=note if due == now else f"{note}; held by quiet hours until {due:%Y-%m-%d %H:%M} UTC",
    )
