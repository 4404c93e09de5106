"""``assay ledgers``: the four ledgers at one instant."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.archive.instants import at_instant
from assay.archive.interpretation import interpret
from assay.archive.paths import Home
from assay.archive.stored_reading import StoredReading
from assay.cli.main import main
from tests.assay.archive import interpretable
from tests.assay.cli.indexed import indexed_run

MS = 1_000_000
CASE, LOAD = "cases-0001.A1", "load-0001.A1"


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> StoredReading:
    root = tmp_path_factory.mktemp("ledgers")
    interpretable.build(root / "bundle")
    return StoredReading(interpret(root / "bundle", root / "derived").parent)


def states(reading: StoredReading, attempt: str, at_ms: float) -> tuple[str | None, ...]:
    document = at_instant(reading, round(at_ms * MS))
    (own,) = [a for a in document["attempts"] if a["attempt_id"] == attempt]
    ledgers = ("client", "server", "task", "resource")
    return tuple(own[name] and own[name]["state"] for name in ledgers)


# The case, by hand from its bundle: created 100, sent 101, cancelled 200 ms; received 102, queued 103,
# running 110, cancelled 215; blocks held from 110; computing stopped 215, blocks back 216. Its task
# fails at 200.
@pytest.mark.req("8.01", "8.04")
@pytest.mark.parametrize(
    ("at_ms", "expected"),
    [
        (99.9, (None, None, None, None)),
        (100, ("created", None, "undetermined", None)),
        (101.5, ("sent", None, "undetermined", None)),
        (103, ("sent", "queued", "undetermined", None)),
        (150, ("sent", "running", "undetermined", "held")),
        (205, ("cancelled", "running", "failure", "held")),  # the client left, the server works on
        (215, ("cancelled", "cancelled", "failure", "released")),
        (10_000, ("cancelled", "cancelled", "failure", "released")),
    ],
)
def test_each_ledger_shows_its_own_state_at_the_instant(
    reading: StoredReading, at_ms: float, expected: tuple[str | None, ...]
) -> None:
    assert states(reading, CASE, at_ms) == expected


def test_a_state_that_is_not_known_says_why(reading: StoredReading) -> None:
    document = at_instant(reading, 50 * MS)

    (case, load) = document["attempts"]
    assert case["absent"]["client"] == "nothing was recorded up to this instant"
    assert (case["ids"]["task_id"], load["attempt_id"]) == ("T-cases-0001", LOAD)


def test_an_uncalibrated_server_clock_is_not_read_against_the_client_s(tmp_path: Path) -> None:
    foreign = interpretable.events().replace(b"boot/1/monotonic", b"boot/2/monotonic")
    interpretable.build(tmp_path / "bundle", **{"engine_events.jsonl": foreign})
    folder = interpret(tmp_path / "bundle", tmp_path / "derived").parent

    document = at_instant(StoredReading(folder), 150 * MS)

    (case, _) = document["attempts"]
    assert case["client"]["state"] == "sent"
    assert case["server"] is None
    assert "not calibrated" in case["absent"]["server"]


@pytest.mark.django_db
def test_the_verb_prints_every_attempt(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = indexed_run(home, tmp_path)

    code = main(["ledgers", str(run.id), "--at", "205ms", "--json"])

    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0
    assert found["run"] == str(run.id)
    assert [a["client"] and a["client"]["state"] for a in found["attempts"]] == ["cancelled", None]


@pytest.mark.forbids
@pytest.mark.req("8.01")
def test_an_instant_without_its_unit_is_refused(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledgers", "0123456", "--at", "soon"]) == 2

    assert "--at" in capsys.readouterr().err
