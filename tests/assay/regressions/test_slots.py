"""When a schedule is due: in its own zone, across daylight saving, each slot once."""

from datetime import UTC, datetime, time

import pytest

from assay.regressions.slots import QuietHours, check_cron, slots, upcoming
from experiments.errors import Refusal

BERLIN = "Europe/Berlin"


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def test_a_slot_is_a_local_time() -> None:
    found = slots("30 2 * * *", BERLIN, after=utc(2027, 1, 10), until=utc(2027, 1, 12))

    assert [s.utc for s in found] == [utc(2027, 1, 10, 1, 30), utc(2027, 1, 11, 1, 30)]
    assert [s.note for s in found] == ["", ""]


def test_a_time_that_daylight_saving_leaves_out_is_due_at_the_first_minute_that_exists() -> None:
    # 28 March 2027: 02:00 becomes 03:00 in Berlin, 01:00 UTC
    before, moved, after = slots(
        "30 2 * * *", BERLIN, after=utc(2027, 3, 26, 12), until=utc(2027, 3, 30)
    )

    assert before.utc == utc(2027, 3, 27, 1, 30)
    assert moved.utc == utc(2027, 3, 28, 1, 0)
    assert "moved to 03:00" in moved.note
    assert after.utc == utc(2027, 3, 29, 0, 30)


def test_a_slot_that_is_meant_for_the_first_minute_after_the_gap_is_not_called_moved() -> None:
    (found,) = slots("0 3 * * *", BERLIN, after=utc(2027, 3, 27, 12), until=utc(2027, 3, 28, 12))

    assert (found.utc, found.note) == (utc(2027, 3, 28, 1, 0), "")


def test_a_time_that_comes_twice_is_due_once() -> None:
    # 31 October 2027: 03:00 becomes 02:00 in Berlin
    found = slots("30 2 * * *", BERLIN, after=utc(2027, 10, 30, 12), until=utc(2027, 10, 31, 12))

    assert [s.utc for s in found] == [utc(2027, 10, 31, 0, 30)]


def test_the_beginning_is_not_due_and_the_end_is() -> None:
    found = slots("0 * * * *", "UTC", after=utc(2027, 1, 1, 1), until=utc(2027, 1, 1, 3))

    assert [s.utc.hour for s in found] == [2, 3]


def test_the_slots_to_come_have_no_end() -> None:
    coming = upcoming("0 0 29 2 *", "UTC", after=utc(2027, 1, 1))

    assert [next(coming).utc.year for _ in range(2)] == [2028, 2032]


@pytest.mark.parametrize(
    ("cron", "zone", "field"),
    [
        ("61 * * * *", "UTC", "schedule.cron"),
        ("every day", "UTC", "schedule.cron"),
        ("0 0 30 2 *", "UTC", "schedule.cron"),
        ("0 0 * * *", "Mars/Olympus", "schedule.zone"),
    ],
)
def test_what_is_no_schedule_is_refused_by_field(cron: str, zone: str, field: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_cron(cron, zone)

    assert refused.value.findings[0].field == field


@pytest.mark.parametrize(
    ("at", "held_until"),
    [
        (utc(2027, 1, 10, 20, 0), utc(2027, 1, 11, 5, 0)),  # 21:00 in Berlin, until 06:00 next day
        (utc(2027, 1, 10, 1, 30), utc(2027, 1, 10, 5, 0)),  # 02:30, until 06:00 the same day
        (utc(2027, 1, 10, 5, 0), utc(2027, 1, 10, 5, 0)),  # 06:00 is free
        (utc(2027, 1, 10, 18, 59), utc(2027, 1, 10, 18, 59)),
    ],
)
def test_quiet_hours_hold_what_comes_in_them_over_midnight_too(
    at: datetime, held_until: datetime
) -> None:
    assert QuietHours(begin=time(20), end=time(6)).hold(BERLIN, at) == held_until
