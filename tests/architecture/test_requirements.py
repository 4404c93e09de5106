"""docs/requirements.md says what the tests say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.traceability import (
    HELD_BY_ALL,
    Requirement,
    document,
    is_held,
    read_requirements,
    report,
)

ROOT = Path(__file__).resolve().parents[2]


def test_the_list_holds_every_requirement_of_the_source() -> None:
    requirements = read_requirements()

    assert len(requirements) == 287
    assert requirements["8.03"].kind == "FORBID"


def test_a_forbidden_thing_counts_only_when_a_test_tries_it() -> None:
    forbid = Requirement(id="8.03", kind="FORBID", section="1.6.1", text="never")
    record = Requirement(id="8.16", kind="REC", section="1.6.4", text="keep")

    assert not is_held(forbid, {"tests/a.py::test_a": False})
    assert is_held(forbid, {"tests/a.py::test_a": True})
    assert is_held(record, {"tests/a.py::test_a": False})
    assert "not yet tried" in report({"8.03": forbid}, {"8.03": {"tests/a.py::test_a": False}})


def test_the_document_is_current(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    held = request.config.stash.get(HELD_BY_ALL, None)

    fresh = _collected(tmp_path / "requirements.md") if held is None else document(held)

    assert (ROOT / "docs" / "requirements.md").read_text() == fresh, "run `make requirements`"


def _collected(file: Path) -> str:
    """As ``make requirements`` writes it: where this run has collected some of the tests only."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "tests.traceability"]
    subprocess.run(
        [*command, "--requirements-report", str(file)], cwd=ROOT, check=True, capture_output=True
    )
    return file.read_text()
