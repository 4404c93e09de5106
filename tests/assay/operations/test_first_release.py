"""A database of the first release is brought to this version with everything that was in it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.stacks import Stack

DATABASE = Path(__file__).parents[2] / "data" / "first_release" / "database.sql"
TABLES = (
    "ledger_artifact",
    "ledger_study",
    "ledger_run",
    "ledger_bundle",
    "ledger_interpretation",
    "ledger_measure",
    "ledger_ledgercount",
    "ledger_gapentry",
    "ledger_residual",
    "ledger_quarantined",
    "execution_execution",
)
SEALED, FAILED, QUEUED = (f"019a0000-0000-7000-8000-00000000002{n}" for n in range(3))

pytestmark = pytest.mark.slow


@pytest.fixture
def installation(tmp_path: Path) -> Stack:
    made = Stack(home=tmp_path / "home", variables={})
    made.home.mkdir()
    with closing(sqlite3.connect(made.home / "db.sqlite3")) as database:
        database.executescript(DATABASE.read_text(encoding="utf-8"))
    return made


def rows(home: Path) -> dict[str, list[dict[str, Any]]]:
    with closing(sqlite3.connect(home / "db.sqlite3")) as database:
        database.row_factory = sqlite3.Row
        return {t: [dict(r) for r in database.execute(f"SELECT * FROM {t}")] for t in TABLES}


def test_the_first_release_is_upgraded_with_its_data(installation: Stack) -> None:
    before = rows(installation.home)

    done = installation.assay("migrate")

    after = rows(installation.home)
    assert done.returncode == 0, done.stderr
    assert {t: len(r) for t, r in before.items()} == {t: len(r) for t, r in after.items()}
    for table, old in before.items():
        for was, now in zip(old, after[table], strict=True):
            assert {name: now[name] for name in was} == was, table
    # The main project is where everything of the time before projects belongs.
    assert {study["project_id"] for study in after["ledger_study"]} == {_main_project(installation)}


def test_what_was_run_then_is_shown_and_guarded_now(installation: Stack) -> None:
    assert installation.assay("migrate").returncode == 0

    listed = installation.assay("list", "--json")

    runs = json.loads(listed.stdout)
    assert {SEALED, FAILED, QUEUED} <= {row["run"] for row in runs["runs"]}, listed.stdout
    assert installation.show(SEALED)["state"] == "sealed"
    with closing(sqlite3.connect(installation.home / "db.sqlite3")) as database:
        for statement in ("UPDATE ledger_measure SET value = 1", "DELETE FROM ledger_bundle"):
            with pytest.raises(sqlite3.DatabaseError, match="cannot be changed"):
                database.execute(statement)


def _main_project(installation: Stack) -> str:
    with closing(sqlite3.connect(installation.home / "db.sqlite3")) as database:
        found: str = database.execute("SELECT id FROM accounts_project").fetchone()[0]
    return found
