"""The moments at which a schedule is due, computed in its own time zone.

A local time that daylight saving leaves out is due at the first minute that exists, and its slot says so; one
that comes twice is due once. Slots are UTC minutes: together with the schedule they are the unique key of a
firing, so that nothing fires twice however often it is computed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from experiments.errors import Finding, Refusal

MOST_SLOTS = 1000  # of one look; a schedule that was asleep longer has its own policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """``utc`` is the slot; ``note`` says what daylight saving did to it, empty where nothing."""

    utc: datetime
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """Local times between which nothing is started; may reach over midnight."""

    begin: time
    end: time

    def hold(self, zone: str, at: datetime) -> datetime:
        """``at`` itself, or the end of the quiet hours that it lies in (UTC)."""
        local = at.astimezone(ZoneInfo(zone))
        if not self._holds(local.time()):
            return at
        day = local.date() if local.time() < self.end else local.date() + timedelta(days=1)
        return datetime.combine(day, self.end, tzinfo=ZoneInfo(zone)).astimezone(UTC)

    def _holds(self, moment: time) -> bool:
        if self.begin <= self.end:
            return self.begin <= moment < self.end
        return moment >= self.begin or moment < self.end


def check_cron(cron: str, zone: str) -> None:
    """Raises Refusal naming the field that is wrong."""
    if zone not in available_timezones():
        raise Refusal(
            [
                Finding(
                    field="schedule.zone",
                    seen=zone,
                    allowed="a name of the tz database, Europe/Berlin for instance",
                    remedy="See https://en.wikipedia.org/wiki/List_of_tz_database_time_zones.",
                )
            ]
        )
    try:
        next(CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration) as error:
        raise Refusal(
            [
                Finding(
                    field="schedule.cron",
                    seen=cron,
                    allowed="minute hour day-of-month month day-of-week, with a date that exists",
                    remedy=f"{error or 'It never comes due'}. 30 2 * * 1-5 is 02:30 from Monday to Friday.",
                )
            ]
        ) from error


def slots(cron: str, zone: str, *, after: datetime, until: datetime) -> list[Slot]:
    """Those with ``after`` < slot <= ``until``, oldest first, the newest thousand at most."""
    local = ZoneInfo(zone)
    due = takewhile(lambda at: at <= until, CronSim(cron, after.astimezone(local)))
    return [_slot(at, cron, local) for at in due][-MOST_SLOTS:]


def upcoming(cron: str, zone: str, *, after: datetime) -> Iterator[Slot]:
    """The slots to come, without end."""
    local = ZoneInfo(zone)
    return (_slot(at, cron, local) for at in CronSim(cron, after.astimezone(local)))


def _slot(at: datetime, cron: str, zone: ZoneInfo) -> Slot:
    utc = at.astimezone(UTC)
    before = (utc - timedelta(minutes=1)).astimezone(zone)
    gap = at.utcoffset() != before.utcoffset() and (at.utcoffset() or timedelta()) > (
        before.utcoffset() or timedelta()
    )
    if not gap or _names(cron, at):
        return Slot(utc=utc)
    note = f"moved to {at:%H:%M}: daylight saving leaves out the hour before it on {at:%Y-%m-%d}"
    return Slot(utc=utc, note=note)


def _names(cron: str, at: datetime) -> bool:
    """Whether the expression names this very minute, on any day without a change of the clock."""
    minute, hour, *_ = cron.split()
    try:
        found = next(
            CronSim(f"{minute} {hour} * * *", datetime.combine(at, time()) - timedelta(minutes=1))
        )
        while (found.hour, found.minute) < (at.hour, at.minute) and found.date() == at.date():
            found = next(CronSim(f"{minute} {hour} * * *", found))
    except (CronSimError, StopIteration):
        return False
    return (found.hour, found.minute) == (at.hour, at.minute)
