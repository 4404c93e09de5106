"""Backup and restore on both databases: the same runs, every byte; refused where anything would be lost."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runners.protocol import layout, manifest
from tests.assay.archive.bundles import sealed_bundle
from tests.stacks import Stack

pytestmark = pytest.mark.slow
FAKES = {"DJANGO_SETTINGS_MODULE": "tests.fake_runner_settings"}
RUNS = (
    "019a0000-0000-7000-8000-0000000000a1",
    "019a0000-0000-7000-8000-0000000000a2",
)


@pytest.fixture
def lived_in(stack: Stack, tmp_path: Path) -> Stack:
    """An installation with two runs, a token and something of everything else that a home holds."""
    stack.variables.update(FAKES)
    for run in RUNS:
        sealed_bundle(tmp_path / run, run_id=run, execution_id=run.replace("a", "b", 1))
        done = stack.assay("import", str(tmp_path / run))
        assert done.returncode == 0, done.stderr
    (stack.home / "studies" / "study").mkdir(parents=True)
    (stack.home / "studies" / "study" / "mine.yaml").write_text("name: mine\n")
    return stack


@pytest.fixture
def empty(request: pytest.FixtureRequest, lived_in: Stack, tmp_path: Path) -> Stack:
    """Another installation of the same kind, with nothing in it."""
    variables = dict(lived_in.variables)
    if "ASSAY_DATABASE_URL" in variables:
        variables["ASSAY_DATABASE_URL"] = request.getfixturevalue("another_postgres_url")
    (tmp_path / "elsewhere").mkdir()
    return Stack(home=tmp_path / "elsewhere" / "home", variables=variables)


def shown(stack: Stack) -> dict[str, Any]:
    """What is listed, every file of the archive, and every number that was read."""
    listed = stack.assay("list", "--json")
    assert listed.returncode == 0, listed.stderr
    runs = json.loads(listed.stdout)
    assert {row["run"] for row in runs["runs"]} == set(RUNS)
    files = {
        str(path.relative_to(stack.home)): manifest.sha256_of(path)
        for name in ("store", "derived")
        for path in sorted((stack.home / name).rglob("*"))
        if path.is_file()
    }
    return {"runs": runs, "files": files}


def test_a_restored_home_shows_the_same_runs_and_verifies(
    lived_in: Stack, empty: Stack, tmp_path: Path
) -> None:
    before = shown(lived_in)

    done = lived_in.assay("backup", str(tmp_path / "out"), "--json")
    again = empty.assay("restore", str(tmp_path / "out"), "--json")

    assert done.returncode == 0, done.stderr
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["faults"] == []
    assert shown(empty) == before
    for run in RUNS:
        assert empty.assay("verify", run).returncode == 0
    assert (empty.home / "studies" / "study" / "mine.yaml").is_file()
    # Numbers that the database gives out go on after those that were restored.
    sealed_bundle(tmp_path / "later", run_id="019a0000-0000-7000-8000-0000000000a3")
    later = empty.assay("import", str(tmp_path / "later"))
    assert later.returncode == 0, later.stderr


@pytest.mark.forbids
def test_a_backup_never_goes_over_anything(lived_in: Stack, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert lived_in.assay("backup", str(out)).returncode == 0

    again, home_in_use = lived_in.assay("backup", str(out)), lived_in.assay("restore", str(out))

    assert (again.returncode, home_in_use.returncode) == (2, 2)
    assert "is there (allowed: a new folder)" in again.stderr
    assert "allowed: an empty database" in home_in_use.stderr


@pytest.mark.forbids
def test_a_backup_that_was_changed_is_refused_before_a_byte_is_written(
    lived_in: Stack, empty: Stack, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert lived_in.assay("backup", str(out)).returncode == 0
    altered = next((out / "store").rglob(layout.SESSION))
    altered.chmod(0o644)
    altered.write_text("other")

    done = empty.assay("restore", str(out))

    assert done.returncode == 2
    assert f"{layout.SESSION}: changed" in done.stderr
    assert not empty.home.exists() or not (empty.home / "store").exists()


def test_a_backup_that_was_cut_is_none(lived_in: Stack, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert lived_in.assay("backup", str(out)).returncode == 0
    shutil.move(out / "backup.sha256", tmp_path / "aside")

    done = lived_in.assay("restore", str(out))

    assert done.returncode == 2
    assert "a folder that `assay backup` made" in done.stderr
