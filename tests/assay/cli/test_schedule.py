"""``assay schedule`` and what ``assay regress`` writes for CI."""

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from assay.archive.paths import Home
from assay.cli.junit import junit
from assay.cli.main import main
from assay.regressions.models import Schedule

pytestmark = pytest.mark.django_db

ADD = ["schedule", "add", "nightly", "study=smollm2_torch"]


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_schedule_is_added_with_what_it_watches(
    assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*ADD, "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--json"])

    assert code == 0
    (row,) = said(capsys)["schedules"]
    assert row["overrides"] == ["study=smollm2_torch"]
    assert row["next"].endswith("+00:00")
    assert "tpot.last_token:p50:less" in row["watches"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        (["--cron", "61 * * * *"], "schedule.cron"),
        (["--cron", "0 2 * * *", "--zone", "Nowhere"], "schedule.zone"),
        (["--watch", "tpot:p50:less"], "schedule.watch"),
        (["--watch", "tpot.last_token:p50:up"], "schedule.watch"),
        (["--quiet", "late"], "--quiet"),
        (["load.no_such_key=1"], "load.no_such_key"),
    ],
)
def test_what_could_never_fire_or_watch_is_refused_with_nothing_written(
    assay_home: Home, capsys: pytest.CaptureFixture[str], more: list[str], field: str
) -> None:
    assert main([*ADD, *more]) == 2

    assert field in capsys.readouterr().err
    assert not Schedule.objects.exists()


def test_a_second_schedule_of_a_name_is_refused(
    assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(ADD) == 0

    assert main(ADD) == 2
    assert "no other schedule" in capsys.readouterr().err


def test_a_schedule_is_paused_and_resumed(
    assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*ADD, "--cron", "0 2 * * *"])
    capsys.readouterr()

    assert main(["schedule", "pause", "nightly", "--json"]) == 0
    (row,) = said(capsys)["schedules"]
    assert (row["paused"], row["next"]) == (True, None)

    assert main(["schedule", "resume", "nightly"]) == 0
    assert not Schedule.objects.get().paused


def test_a_schedule_that_does_not_exist_is_refused_with_those_that_do(
    assay_home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    main(ADD)

    assert main(["regress", "daily"]) == 2
    assert "nightly" in capsys.readouterr().err


def test_junit_fails_what_is_not_green_and_calls_nothing_an_error() -> None:
    answers = [
        {"metric": "ttft p50", "answer": "ok", "green": True, "reason": "within"},
        {"metric": "tpot p50", "answer": "missing", "green": False, "reason": "no <tpot>"},
    ]

    root = ET.fromstring(junit("nightly", answers))
    nothing = ET.fromstring(junit("nightly", []))

    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "0")
    assert [f.get("message") for f in root.iter("failure")] == ["no <tpot>"]
    assert (nothing.get("errors"), len(list(nothing.iter("error")))) == ("1", 1)
