"""The weekly look back, and which baseline a start is held against."""

from datetime import UTC, date, datetime

import pytest

from assay.analysis.regression.answers import Answer
from assay.archive.paths import Home
from assay.regressions import checking, looking_back, signing
from assay.regressions.models import Against, BaselineRecord, CheckRecord, Finding, LookBack
from assay.regressions.queries import answers_of
from experiments.errors import Refusal
from tests.assay.regressions.starts import Laboratory, laboratory
from tests.assay.regressions.test_checking import look, steady

pytestmark = pytest.mark.django_db

WEDNESDAY = datetime(2027, 1, 13, 4, tzinfo=UTC)


@pytest.fixture
def lab(assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


def approve(lab: Laboratory) -> list[BaselineRecord]:
    return signing.approve(lab.schedule, lab.home, by="ada", reason="as released")


def creep(lab: Laboratory, starts: int, step: float) -> None:
    """Starts that each lie a little higher; whatever fresh starts they ask for show the old level."""
    for k in range(starts):
        lab.fire(0.100 + step * (k + 1))
    lab.fresh = [0.100] * 400
    for _ in range(40):
        look(lab)


def test_drift_is_told_against_the_level_that_somebody_signed(lab: Laboratory) -> None:
    steady(lab)
    approve(lab)
    creep(lab, 12, 0.0005)

    found = looking_back.retrospect(lab.watch, answers_of(lab.watch))

    # 0.1005 to 0.1060 in steps of 0.0005: the line ends at 0.1060, 6 % above 0.100
    assert found.drift is not None
    assert found.drift.is_one
    assert found.drift.change == pytest.approx(0.06)
    assert found.reference is not None
    assert found.reference.reason == "as released"


def test_without_a_signature_there_is_no_drift_but_what_to_do(lab: Laboratory) -> None:
    steady(lab)
    creep(lab, 12, 0.0005)

    found = looking_back.retrospect(lab.watch, answers_of(lab.watch))

    assert found.drift is None
    assert "approve the baseline" in found.reason


def test_one_look_a_week_is_kept_with_the_run_of_each_change_point(lab: Laboratory) -> None:
    steady(lab)
    runs = [lab.fire(0.110) for _ in range(12)]
    lab.fresh = [0.100] * 400
    for _ in range(40):
        look(lab)

    (kept,) = looking_back.look_back(lab.schedule, WEDNESDAY)

    assert looking_back.look_back(lab.schedule, WEDNESDAY) == []
    assert (LookBack.objects.count(), kept.week) == (1, date(2027, 1, 11))
    (point,) = kept.points
    assert point["run"] == str(runs[0].pk)
    assert point["change"] == pytest.approx(0.10)


def test_a_new_segment_is_looked_at_by_itself(lab: Laboratory) -> None:
    steady(lab)
    for _ in range(6):
        lab.fire(0.200, host="other")
    look(lab)

    found = looking_back.retrospect(lab.watch, answers_of(lab.watch))

    assert len(found.starts) == 6
    assert found.points == ()


def test_nothing_is_kept_of_a_schedule_without_starts(lab: Laboratory) -> None:
    assert looking_back.look_back(lab.schedule, WEDNESDAY) == []


def test_against_approved_nothing_is_green_before_somebody_signed(lab: Laboratory) -> None:
    lab.schedule.against = Against.approved
    lab.schedule.save()
    steady(lab)
    lab.fire(0.100)
    (row,) = look(lab)
    assert (row.answer, "approve" in row.reason) == (Answer.insufficient, True)

    approve(lab)
    lab.fire(0.100)
    (row,) = look(lab)

    assert row.answer == Answer.ok
    assert row.baseline is not None
    assert (row.baseline.kind, row.baseline.accepted_by) == ("approved", "ada")


def test_a_pinned_baseline_stands_on_the_starts_that_were_named(lab: Laboratory) -> None:
    lab.schedule.against = Against.pinned
    lab.schedule.save()
    steady(lab)
    for _ in range(12):
        lab.fire(0.110)
    look(lab)
    (pinned,) = signing.pin(lab.schedule, lab.home, newest=12, by="ada", reason="the new kernel")

    lab.fire(0.110)
    (row,) = look(lab)

    assert pinned.level == 0.110
    assert (row.answer, row.baseline) == (Answer.ok, pinned)


def test_a_rolling_baseline_goes_silent_on_a_level_shift_as_the_page_warns(lab: Laboratory) -> None:
    lab.schedule.against = Against.rolling
    lab.schedule.save()
    steady(lab)
    for _ in range(13):
        lab.fire(0.120)
    lab.fresh = [0.100] * 800  # no fresh start shows it
    for _ in range(60):
        look(lab)

    last = CheckRecord.objects.filter(watch=lab.watch).order_by("-firing__slot", "-pk")[0]

    assert last.answer == Answer.ok
    assert not Finding.objects.exists()


@pytest.mark.parametrize(("starts", "reason"), [(12, " "), (5, "why not")])
def test_nobody_signs_without_a_reason_or_twelve_starts(
    lab: Laboratory, starts: int, reason: str
) -> None:
    for _ in range(starts):
        lab.fire(0.100)
    checking.look(lab.schedule, lab.home, lab.rerun)

    with pytest.raises(Refusal):
        signing.approve(lab.schedule, lab.home, by="ada", reason=reason)

    assert not BaselineRecord.objects.exists()
