"""``assay --server URL regress NAME``: it waits for the last word on every metric, and ends as they do."""

import argparse
import json
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from assay.cli import regress as here
from assay.cli import server_regress
from assay.cli.server_client import Server, ServerProblem

SCHEDULE = {"schedule": "nightly", "id": "5e" * 16, "project": "main"}


def answer(word: str) -> dict[str, Any]:
    green = word in ("ok", "improved")
    run = {"run": "a-run", "value": 0.02, "change": None, "finding": None}
    return {**run, "metric": "tpot.last_token p50", "answer": word, "green": green, "reason": word}


def check(*words: str, settled: bool, state: str = "submitted") -> dict[str, Any]:
    rows = [answer(word) for word in words]
    green = settled and bool(rows) and all(row["green"] for row in rows)
    said = {"firing": 7, "state": state, "note": "load.concurrency: 0", "answers": rows}
    return {**said, "settled": settled, "green": green}


class Answering:
    """A server with one schedule, whose firing goes through ``checks`` one look after the other."""

    def __init__(self, *checks: dict[str, Any]) -> None:
        self.checks = list(checks)
        self.fired = 0

    def pages(self, path: str, rows: str, **_: Any) -> list[dict[str, Any]]:
        assert (path, rows) == ("/schedules", "schedules")
        return [{"schedules": [SCHEDULE]}]

    def post(self, path: str, body: Any = None) -> dict[str, Any]:
        assert path == f"/schedules/{SCHEDULE['id']}/fire"
        self.fired += 1
        return self.checks.pop(0)

    def get(self, path: str, **_: Any) -> dict[str, Any]:
        assert path == f"/schedules/{SCHEDULE['id']}/firings/7"
        return self.checks.pop(0)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_regress, "FIRST_WAIT_S", 0.0)


def ran(server: Answering, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    here.add_arguments(parser)
    return server_regress.regress(cast(Server, server), parser.parse_args(arguments))


@pytest.mark.parametrize(
    ("last", "code"),
    [(("ok", "improved"), 0), (("ok", "confirmed"), 1), (("missing",), 1), ((), 1)],
)
def test_it_waits_until_every_run_has_its_last_word(
    last: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    server = Answering(
        check(settled=False), check("suspected", settled=False), check(*last, settled=True)
    )
    file = tmp_path / "junit.xml"

    assert ran(server, "nightly", "--json", "--junit", str(file)) == code

    said = json.loads(capsys.readouterr().out)
    assert [row["answer"] for row in said["answers"]] == list(last)
    assert server.checks == []
    # No answer at all is a test case of its own, an error.
    assert len(list(ET.parse(file).iter("testcase"))) == max(1, len(last))


def test_each_start_is_fired_once_the_one_before_is_settled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Answering(*(check("ok", settled=True) for _ in range(3)))

    assert ran(server, "nightly", "--starts", "3") == 0
    assert server.fired == 3


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [(("hourly",), "hourly"), (("--study", "smollm2_smoke"), "smollm2_smoke")],
)
def test_what_it_cannot_name_there_fires_nothing(arguments: tuple[str, ...], seen: str) -> None:
    server = Answering()

    with pytest.raises(ServerProblem) as problem:
        ran(server, *arguments)

    assert problem.value.findings[0].seen == seen
    assert problem.value.exit_code == 2
    assert server.fired == 0


def test_a_declaration_that_no_longer_holds_is_told_and_not_waited_for() -> None:
    with pytest.raises(ServerProblem) as problem:
        ran(Answering(check(settled=False, state="refused")), "nightly")

    assert problem.value.findings[0].seen == "load.concurrency: 0"
