"""``assay regress`` and ``assay finding``: exit codes for CI, whose answers they are, and what is refused."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from assay.analysis.regression.answers import Answer
from assay.archive.paths import Home
from assay.cli.main import main
from assay.cli.regress import work_off_here
from assay.regressions import checking
from assay.regressions.models import Bisection, CheckRecord, Finding
from tests.assay.regressions.starts import Laboratory, laboratory
from tests.assay.regressions.test_checking import look_to_the_end, steady

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab(assay_home: Home) -> Laboratory:
    return laboratory(assay_home)


@pytest.fixture
def moved(lab: Laboratory) -> Laboratory:
    steady(lab)
    lab.fire(0.120)
    lab.fresh = [0.120] * 3
    look_to_the_end(lab)
    return lab


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.forbids
@pytest.mark.parametrize("answer", list(Answer))
def test_the_exit_code_is_zero_for_ok_and_improved_alone(
    lab: Laboratory, tmp_path: Path, answer: Answer
) -> None:
    steady(lab)
    run = lab.fire(0.100)
    checking.look(lab.schedule, lab.home, lab.rerun)
    CheckRecord.objects.filter(run=run).update(answer=answer)
    file = tmp_path / "out.xml"

    code = main(["regress", "nightly", "--starts", "0", "--junit", str(file)])

    is_green = answer in ("ok", "improved")
    assert code == (0 if is_green else 1)
    assert ET.parse(file).getroot().get("failures") == ("0" if is_green else "1")


@pytest.mark.forbids
def test_a_slot_that_nothing_answered_yet_is_no_pass(lab: Laboratory, tmp_path: Path) -> None:
    steady(lab)
    lab.fire(0.100)  # ended, and not looked at
    file = tmp_path / "out.xml"

    assert main(["regress", "nightly", "--starts", "0", "--junit", str(file)]) == 1
    assert ET.parse(file).getroot().get("errors") == "1"


def test_a_schedule_is_named_by_its_study_where_it_is_the_only_one(
    moved: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["regress", "--study", "nightly", "--starts", "0", "--json"]) == 1
    assert said(capsys)["answers"][0]["answer"] == "confirmed"

    assert main(["regress", "--study", "smollm2_smoke"]) == 2
    assert "assay schedule add NAME study=smollm2_smoke" in capsys.readouterr().err


def test_a_baseline_is_approved_with_a_reason_and_the_schedule_held_against_it(
    moved: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schedule", "approve", "nightly"]) == 2
    capsys.readouterr()

    assert main(["schedule", "approve", "nightly", "--reason", "as released", "--json"]) == 0
    (row,) = said(capsys)["schedules"]
    assert row["signed"] == [{"metric": "tpot.last_token p50", "level": 0.1}]

    assert main(["schedule", "change", "nightly", "--against", "approved", "--json"]) == 0
    (row,) = said(capsys)["schedules"]
    assert (row["against"], row["cron"]) == ("approved", "0 2 * * *")


def test_a_change_that_could_never_fire_is_refused_with_nothing_written(lab: Laboratory) -> None:
    assert main(["schedule", "change", "nightly", "--cron", "61 * * * *"]) == 2

    lab.schedule.refresh_from_db()
    assert lab.schedule.cron == "0 2 * * *"


def test_a_finding_is_listed_moved_and_not_bisected_without_another_version(
    moved: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["finding", "list", "--json"]) == 0
    (row,) = said(capsys)["findings"]
    key = row["finding"][:8]

    assert main(["finding", "fix", key]) == 2
    assert "finding.comment" in capsys.readouterr().err
    assert main(["finding", "fix", key, "--comment", "reverted"]) == 0
    assert Finding.objects.get().state == "fixed"

    assert main(["finding", "bisect", key]) == 2
    assert "nothing to bisect" in capsys.readouterr().err


def test_a_finding_is_shown_with_the_answer_of_its_bisection(
    moved: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = Finding.objects.get()
    Bisection.objects.create(
        finding=finding,
        metric="tpot.last_token p50",
        versions=["1", "2", "3"],
        overrides={},
        old_level=0.1,
        new_level=0.12,
        asked_by="ada",
        state="unclear",
        answer={"last_good": "1", "first_bad": "3", "reason": "between them: 2 (no clear side)"},
    )

    assert (
        main(["finding", "show", str(finding.pk)]) == 0
    )  # it was shown; the answer is no failure of it
    assert "unclear: after 1, with 3  between them: 2" in capsys.readouterr().out


def test_what_has_ended_is_not_carried_out_again_nor_told_again(
    moved: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each look of a bisection goes over all its starts."""
    for firing in moved.schedule.firings.exclude(study=None):
        work_off_here(firing.study, moved.home)

    assert capsys.readouterr().err == ""


def test_a_finding_that_does_not_exist_is_refused_with_those_that_do(
    moved: Laboratory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["finding", "show", "ffff"]) == 2
    assert str(Finding.objects.get().pk) in capsys.readouterr().err
