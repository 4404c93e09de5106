"""From the clock to queued runs: each slot once, missed ones by policy, quiet hours held."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

import pytest

from assay.accounts.services import main_project
from assay.ledger.ids import uuid7
from assay.ledger.models import Study
from assay.regressions import firing
from assay.regressions.models import Firing, FiringState, Missed, Schedule
from experiments.errors import refuse

pytestmark = pytest.mark.django_db

MIDNIGHT = datetime(2027, 1, 10, tzinfo=UTC)


def schedule(**more: object) -> Schedule:
    given = {"cron": "0 * * * *", "looked_until": MIDNIGHT, "overrides": ["study=x"], **more}
    return Schedule.objects.create(project=main_project(), name="hourly", owner="ada", **given)


def submit(_schedule: Schedule, _overrides: Sequence[str]) -> Study:
    return Study.objects.create(id=uuid7(), name="x")


def states() -> list[str]:
    return list(Firing.objects.order_by("slot").values_list("state", flat=True))


def test_a_slot_is_submitted_once_however_often_it_is_ticked() -> None:
    schedule()

    first = firing.tick(MIDNIGHT + timedelta(hours=1), submit)
    again = firing.tick(MIDNIGHT + timedelta(hours=1), submit)
    late = firing.tick(MIDNIGHT + timedelta(minutes=59), submit)  # a clock that went back

    assert (len(first), len(again), len(late)) == (1, 0, 0)
    assert Study.objects.count() == 1
    assert Firing.objects.get().study is not None


def test_who_ticks_from_the_same_state_second_writes_nothing() -> None:
    one = schedule()
    stale = Schedule.objects.get(pk=one.pk)

    firing.write_slots(one, MIDNIGHT + timedelta(hours=1))
    firing.write_slots(stale, MIDNIGHT + timedelta(hours=1))

    assert Firing.objects.count() == 1


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Missed.skip, ["missed", "missed", "missed"]),
        (Missed.newest, ["missed", "missed", "submitted"]),
        (Missed.all, ["submitted", "submitted", "submitted"]),
    ],
)
def test_slots_that_passed_while_nothing_ticked_go_by_the_policy(
    policy: Missed, expected: list[str]
) -> None:
    schedule(missed=policy)

    firing.tick(MIDNIGHT + timedelta(hours=3, minutes=30), submit)

    assert states() == expected
    assert all("missed" in f.note for f in Firing.objects.all())


def test_quiet_hours_hold_a_slot_and_say_so() -> None:
    schedule(cron="0 1 * * *", quiet_from=time(0), quiet_to=time(6))

    firing.tick(MIDNIGHT + timedelta(hours=1), submit)
    assert states() == [FiringState.waiting]
    assert "quiet hours until 2027-01-10 06:00 UTC" in Firing.objects.get().note

    firing.tick(MIDNIGHT + timedelta(hours=6), submit)
    assert states() == [FiringState.submitted]


def test_a_paused_schedule_neither_writes_nor_submits() -> None:
    schedule(paused=True)

    assert firing.tick(MIDNIGHT + timedelta(hours=2), submit) == []
    assert states() == []


def test_a_declaration_that_does_not_hold_any_more_is_written_down_as_refused() -> None:
    def refusing(_schedule: Schedule, _overrides: Sequence[str]) -> Study:
        Study.objects.create(id=uuid7(), name="half")
        raise refuse(field="study", seen="x", allowed="a study", remedy="Name another.")

    schedule()

    assert firing.tick(MIDNIGHT + timedelta(hours=1), refusing) == []

    written = Firing.objects.get()
    assert written.state == FiringState.refused
    assert "Name another." in written.note
    assert not Study.objects.exists()  # nothing half-written


def test_a_firing_on_demand_is_one_of_its_own_moment() -> None:
    one = schedule(trigger="demand")

    found = firing.fire_now(one, MIDNIGHT + timedelta(minutes=7), submit)

    assert found.state == FiringState.submitted
    assert firing.tick(MIDNIGHT + timedelta(hours=5), submit) == []
