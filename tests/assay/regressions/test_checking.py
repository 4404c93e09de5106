"""Scheduled runs get their answers; a confirmed change becomes one finding."""

import pytest

from assay.analysis.regression.answers import Answer
from assay.archive.paths import Home
from assay.regressions import baselines, checking, findings
from assay.regressions.models import BaselineRecord, CheckRecord, Finding, Firing, FiringState
from assay.regressions.reading import start_of
from experiments.errors import Refusal
from tests.assay.regressions.starts import BEGAN, Laboratory, laboratory

pytestmark = pytest.mark.django_db

STEADY = [0.100, 0.101, 0.099, 0.100, 0.102, 0.098, 0.100, 0.101, 0.099, 0.100, 0.101, 0.099]


@pytest.fixture
def lab(assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


@pytest.fixture
def versions(assay_home: Home) -> Laboratory:
    return laboratory(assay_home, variable="engine.version")


def look(lab: Laboratory) -> list[CheckRecord]:
    return checking.look(lab.schedule, lab.home, lab.rerun)


def look_to_the_end(lab: Laboratory) -> CheckRecord:
    """Fresh starts of the laboratory end at once, so that looking again is enough."""
    for _ in range(40):
        look(lab)
        last = CheckRecord.objects.order_by("-pk").first()
        assert last is not None
        if last.answer != Answer.suspected:
            return last
    raise AssertionError("the suspicion never ended")


def steady(lab: Laboratory) -> None:
    for value in STEADY:
        lab.fire(value)
    look(lab)


def answers(lab: Laboratory) -> list[str]:
    return list(lab.watch.checks.order_by("pk").values_list("answer", flat=True))


def test_twelve_starts_are_needed_before_anything_is_said(lab: Laboratory) -> None:
    steady(lab)

    assert answers(lab) == [Answer.insufficient] * 12

    lab.fire(0.1005)
    (row,) = look(lab)

    assert row.answer == Answer.ok
    assert row.baseline is not None
    assert row.baseline.starts == 12
    assert look(lab) == []  # what has its answer is not looked at again


def test_a_step_on_a_new_engine_version_is_put_to_pairs_and_becomes_a_finding(
    versions: Laboratory,
) -> None:
    steady(versions)
    versions.fire(0.105, engine="0.33.0")
    # A B, B A, ...: A gives 0.100, B 0.106
    versions.fresh = [0.100, 0.106, 0.106, 0.100] * 6

    last = look_to_the_end(versions)

    assert last.answer == Answer.confirmed
    assert last.change == pytest.approx(0.06)
    old, new = versions.asked[0], versions.asked[1]
    assert old != new
    assert versions.asked[:4] == [old, new, new, old]
    found = Finding.objects.get()
    assert [m["metric"] for m in found.metrics] == ["tpot.last_token p50"]
    assert {f["field"]: f["verdict"] for f in found.identity} == {
        "engine.version": "declared variable",
        "artifact.source.upstream_revision": "unknown",
    }
    assert found.records == ["vllm 0.33.0"]


def test_a_far_step_without_a_declared_change_is_repeated_three_times(lab: Laboratory) -> None:
    steady(lab)
    lab.fire(0.120)
    lab.fresh = [0.121, 0.119, 0.120]

    last = look_to_the_end(lab)

    assert last.answer == Answer.confirmed
    assert len(lab.asked) == 3


def test_a_near_step_without_a_declared_change_is_held_against_the_baselines_own_starts(
    lab: Laboratory,
) -> None:
    steady(lab)
    lab.fire(0.1048)
    lab.fresh = [0.106] * 12

    last = look_to_the_end(lab)

    assert last.answer == Answer.confirmed
    assert set(lab.asked) == {lab.asked[0]}


def test_an_outlier_that_is_not_seen_again_is_ok(lab: Laboratory) -> None:
    steady(lab)
    lab.fire(0.150)
    lab.fresh = [0.100] * 30

    last = look_to_the_end(lab)

    assert last.answer == Answer.ok
    assert not Finding.objects.exists()


def test_a_better_level_is_improved_and_no_finding(lab: Laboratory) -> None:
    steady(lab)
    lab.fire(0.080)
    lab.fresh = [0.081, 0.080, 0.079]

    assert look_to_the_end(lab).answer == Answer.improved
    assert not Finding.objects.exists()


def test_a_change_is_investigated_once_however_many_runs_came_after_it(lab: Laboratory) -> None:
    steady(lab)
    for value in (0.120, 0.121, 0.119):
        lab.fire(value)
    lab.fresh = [0.121, 0.119, 0.120]  # three, for the first of them

    look_to_the_end(lab)
    look(lab)

    assert answers(lab)[12:] == ["suspected"] * 3 + ["confirmed"] * 3
    assert len(lab.asked) == 3
    first, second, third = lab.watch.checks.order_by("-pk")[:3][::-1]
    assert first.reason == "+20.0%, shown by 3 fresh starts"
    told = f"as the fresh starts of run {str(first.run_id)[-12:]} showed"
    assert [second.reason, third.reason] == [f"+21.0%, {told}", f"+19.0%, {told}"]
    assert {first.finding, second.finding, third.finding} == {Finding.objects.get()}


def test_a_later_start_is_investigated_by_itself_once_the_finding_is_fixed(lab: Laboratory) -> None:
    steady(lab)
    lab.fire(0.120)
    lab.fresh = [0.120] * 3
    look_to_the_end(lab)
    findings.move(Finding.objects.get().pk, "fixed", by="ada", comment="the old kernel again")
    lab.fire(0.120)
    lab.fresh = [0.100] * 30

    assert look_to_the_end(lab).answer == Answer.ok
    assert len(lab.asked) > 3


def test_what_was_shown_on_one_side_says_nothing_of_the_other(lab: Laboratory) -> None:
    steady(lab)
    lab.fire(0.120)
    lab.fresh = [0.120] * 3
    look_to_the_end(lab)
    lab.fire(0.080)
    lab.fresh = [0.080] * 3

    last = look_to_the_end(lab)

    assert (last.answer, last.reason) == (Answer.improved, "-20.0%, shown by 3 fresh starts")


def test_another_machine_begins_a_segment_of_its_own(lab: Laboratory) -> None:
    steady(lab)
    lab.fire(0.100)
    lab.fire(0.200, host="other")
    look(lab)

    first = CheckRecord.objects.order_by("-pk")[0]
    assert first.answer == Answer.not_comparable
    assert "ran.host" in first.reason

    lab.fire(0.200, host="other")
    look(lab)
    assert CheckRecord.objects.order_by("-pk")[0].answer == Answer.insufficient


@pytest.mark.parametrize(
    ("value", "more", "expected"),
    [
        (None, {}, Answer.missing),
        (None, {"state": "failed"}, Answer.failed),
        (0.100, {"grade": "C"}, Answer.invalid),
        (0.100, {"grade": "D"}, Answer.client_limited),
    ],
    ids=["the metric vanished", "failed", "disturbed", "client limited"],
)
def test_what_gives_no_number_is_never_green(
    lab: Laboratory, value: float | None, more: dict[str, str], expected: Answer
) -> None:
    steady(lab)
    lab.fire(0.100)
    lab.fire(value, **more)
    look(lab)

    assert CheckRecord.objects.order_by("-pk")[0].answer == expected


def test_a_slot_without_a_run_is_missing(lab: Laboratory) -> None:
    Firing.objects.create(
        schedule=lab.schedule,
        slot=BEGAN,
        due_at=BEGAN,
        state=FiringState.missed,
        note="nothing ticked when it came",
    )

    (row,) = look(lab)

    assert (row.answer, row.run) == (Answer.missing, None)
    assert look(lab) == []


def test_a_second_confirmed_change_of_an_open_finding_joins_it(lab: Laboratory) -> None:
    steady(lab)
    for _ in range(2):
        lab.fire(0.120)
        lab.fresh = [0.120] * 3
        look_to_the_end(lab)

    assert Finding.objects.count() == 1
    assert CheckRecord.objects.filter(finding__isnull=False).count() == 2


def test_an_accepted_level_is_the_baseline_from_then_on_and_keeps_the_spread(
    lab: Laboratory,
) -> None:
    steady(lab)
    moved = lab.fire(0.120)
    lab.fresh = [0.120] * 3
    look_to_the_end(lab)
    before = BaselineRecord.objects.get()

    found = baselines.accept(
        lab.watch,
        [start_of(moved, lab.home, variable=None)],
        by="ada",
        reason="the new kernel checks its input",
    )
    lab.fire(0.121)
    look(lab)

    assert found.level == 0.120
    assert found.scale / found.level == pytest.approx(before.scale / before.level)
    assert CheckRecord.objects.order_by("-pk")[0].answer == Answer.ok


def test_a_finding_moves_by_its_steps_and_ends_with_a_reason(lab: Laboratory) -> None:
    steady(lab)
    lab.fire(0.120)
    lab.fresh = [0.120] * 3
    look_to_the_end(lab)
    found = Finding.objects.get()

    findings.move(found.pk, "acknowledged", by="ada")
    with pytest.raises(Refusal):
        findings.move(found.pk, "fixed", by="ada")
    findings.move(found.pk, "fixed", by="ada", comment="reverted in 0.33.1")
    with pytest.raises(Refusal):
        findings.move(found.pk, "expected", by="ada", comment="no")

    found.refresh_from_db()
    assert (found.state, found.owner) == ("fixed", "ada")
    assert [s.state for s in found.steps.order_by("pk")] == ["acknowledged", "fixed"]
