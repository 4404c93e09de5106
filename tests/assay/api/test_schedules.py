"""Schedules, firings and findings in the API: what is told, what may be done, and when a check is settled."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from assay.accounts.models import Role
from assay.ledger.models import Study
from assay.regressions.models import CheckRecord, Finding, Firing, FiringState, Schedule
from tests.assay.api.conftest import Caller
from tests.assay.pages.factory import BEGAN, Laboratory

WANTED = {"name": "weekly", "overrides": ["study=smollm2_torch"], "cron": "30 2 * * 1"}


@pytest.fixture
def maintainer(calling: Any) -> Caller:
    found: Caller = calling(Role.maintainer)
    return found


@pytest.fixture
def schedule(lab: Laboratory) -> Schedule:
    assert lab.finding is not None
    return lab.finding.schedule


def fired(schedule: Schedule, study: Study | None, *, state: str = "submitted") -> Firing:
    return Firing.objects.create(
        schedule=schedule, slot=BEGAN, due_at=BEGAN, state=FiringState(state), study=study
    )


def answered(firing: Firing, lab: Laboratory, *answers: str) -> None:
    """One row a run of the sweep; it has three."""
    watch = firing.schedule.watches.get()
    for run, answer in zip(lab.sweep, answers, strict=False):
        CheckRecord.objects.create(
            watch=watch, firing=firing, run=run, answer=answer, reason="said", value=0.02
        )


def test_a_schedule_is_added_found_by_name_paused_and_resumed(
    lab: Laboratory, maintainer: Caller
) -> None:
    made = maintainer.post("/schedules", WANTED)
    assert made.status_code == 201
    at = f"/schedules/{made.json()['id']}"

    assert maintainer.get("/schedules", name="weekly").json()["schedules"] == [made.json()]
    assert maintainer.post(f"{at}/pause").json()["next"] is None
    assert maintainer.post(f"{at}/resume").json()["next"] == made.json()["next"]
    assert "tpot.last_token:p50:less" in made.json()["watches"]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"cron": "61 * * * *"}, "schedule.cron"),
        ({"zone": "Nowhere"}, "schedule.zone"),
        ({"watches": ["tpot:p50:less"]}, "schedule.watch"),
        ({"overrides": ["study=smollm2_torch", "load.no_such_key=1"]}, "load.no_such_key"),
        ({"name": "smollm2 nightly"}, "schedule.name"),
        ({"project": "nobodys"}, "project"),
        ({"missed": "sometimes"}, "body.wanted.missed"),
    ],
)
def test_what_the_command_line_refuses_is_refused_with_nothing_written(
    lab: Laboratory, maintainer: Caller, changed: dict[str, Any], field: str
) -> None:
    refused = maintainer.post("/schedules", {**WANTED, **changed})

    assert refused.status_code == 422
    assert field in [f["field"] for f in refused.json()["error"]["findings"]]
    assert Schedule.objects.count() == 1


@pytest.mark.parametrize(
    ("answers", "settled", "green"),
    [
        (("ok", "ok", "improved"), True, True),
        (("ok", "ok", "missing"), True, False),
        (("ok", "ok", "suspected"), False, False),
        (("ok", "ok"), False, False),
        ((), False, False),
    ],
)
def test_a_check_is_green_only_when_every_run_has_a_green_last_word(
    lab: Laboratory,
    schedule: Schedule,
    author: Caller,
    answers: tuple[str, ...],
    settled: bool,
    green: bool,
) -> None:
    firing = fired(schedule, lab.study)
    answered(firing, lab, *answers)

    found = author.get(f"/schedules/{schedule.pk}/firings/{firing.pk}").json()

    assert (found["settled"], found["green"]) == (settled, green)
    assert [a["answer"] for a in found["answers"]] == sorted(answers, key=answers.index)


def test_the_later_word_on_a_run_counts(
    lab: Laboratory, schedule: Schedule, author: Caller
) -> None:
    firing = fired(schedule, lab.study)
    answered(firing, lab, "suspected", "ok", "ok")
    answered(firing, lab, "ok")

    found = author.get(f"/schedules/{schedule.pk}/firings/{firing.pk}").json()

    assert (found["settled"], found["green"], len(found["answers"])) == (True, True, 3)


def test_a_firing_queues_its_study_and_is_not_settled_before_it_ends(
    lab: Laboratory, schedule: Schedule, author: Caller
) -> None:
    found = author.post(f"/schedules/{schedule.pk}/fire")

    assert found.status_code == 201
    document = found.json()
    assert (document["state"], document["settled"], document["green"]) == (
        "submitted",
        False,
        False,
    )
    assert Study.objects.filter(pk=document["study"]).exists()


def test_a_firing_of_another_schedule_is_not_there(
    lab: Laboratory, schedule: Schedule, maintainer: Caller
) -> None:
    other = maintainer.post("/schedules", WANTED).json()["id"]
    firing = fired(schedule, None, state="missed")

    assert maintainer.get(f"/schedules/{other}/firings/{firing.pk}").status_code == 404


def test_a_finding_is_listed_by_state_and_moved_with_a_comment(
    lab: Laboratory, maintainer: Caller
) -> None:
    assert lab.finding is not None
    at = f"/findings/{lab.finding.pk}"

    refused = maintainer.post(f"{at}/state", {"state": "fixed"})
    moved = maintainer.post(f"{at}/state", {"state": "expected", "comment": "a colder day"})

    assert refused.json()["error"]["findings"][0]["field"] == "finding.comment"
    assert moved.json()["state"] == "expected"
    assert moved.json()["steps"][0]["comment"] == "a colder day"
    assert maintainer.get("/findings", state="open").json()["total"] == 0
    (row,) = maintainer.get("/findings", state="expected").json()["findings"]
    assert row == maintainer.get(at).json()


def test_lists_take_a_fixed_number_of_queries(
    lab: Laboratory, author: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    assert lab.finding is not None
    first = lab.finding
    for number in range(20):
        Schedule.objects.create(
            project=first.schedule.project,
            name=f"s{number}",
            overrides=[],
            cron="0 2 * * *",
            owner="local",
            looked_until=BEGAN,
        )
        Finding.objects.create(
            schedule=first.schedule,
            run=lab.run,
            metrics=[],
            segment="5e" * 32,
            identity=[],
            records=[],
            residuals=[],
        )

    # Four or five are who asks; then count, rows, and what hangs on them.
    with django_assert_max_num_queries(9):
        assert author.get("/schedules").json()["total"] == 21
    with django_assert_max_num_queries(9):
        assert author.get("/findings").json()["total"] == 21
