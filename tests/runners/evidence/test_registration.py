"""Predictions are registered before the launch, held to that text, and left out otherwise."""

from pathlib import Path
from typing import Any

import pytest

from runners.evidence import registration
from runners.protocol import layout, manifest, session_log
from runners.protocol.session_log import SessionLog
from runners.protocol.workspace import Workspace
from tests.runners import prepared


class Case:
    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(prepared.prepare(folder))
        self.log = SessionLog(self.workspace.bundle / layout.SESSION)
        self.path = self.workspace.bundle / layout.PREDICTIONS

    def register(self) -> None:
        registration.register(self.workspace, self.workspace.context(), self.log)

    def withdraw(self) -> None:
        registration.withdraw_late(self.workspace, self.log)

    def rows(self, event: str) -> list[dict[str, Any]]:
        found = session_log.read(self.workspace.bundle / layout.SESSION)
        return [row for row in found if row["event"] == event]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "run")


@pytest.mark.req("13.19")
def test_the_digest_is_written_before_the_launch(case: Case) -> None:
    prepared.predict(case.workspace.root)

    case.register()
    case.withdraw()

    [row] = case.rows("predictions_registered")
    assert row["sha256"] == manifest.sha256_of(case.path)
    assert row["registered_at"] == "2026-11-29T00:00:00Z"
    assert case.rows("gap") == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"spec_digest": "8" * 64}, "its spec_digest is 888"),
        ({"plan_digest": "8" * 64}, "its plan_digest is 888"),
    ],
)
def test_predictions_of_another_run_are_no_predictions(
    case: Case, change: dict[str, str], why: str
) -> None:
    prepared.predict(case.workspace.root, **change)

    case.register()

    assert case.rows("predictions_registered") == []
    assert why in case.rows("gap")[0]["what"]


@pytest.mark.parametrize("content", [None, b"{"], ids=["absent", "torn"])
def test_no_readable_predictions_are_a_gap(case: Case, content: bytes | None) -> None:
    if content is not None:
        case.path.write_bytes(content)

    case.register()

    assert "no prediction is registered" in case.rows("gap")[0]["what"]


@pytest.mark.forbids
def test_late_predictions_leave_the_bundle_and_are_kept_beside_it(case: Case) -> None:
    case.register()
    prepared.predict(case.workspace.root)

    case.withdraw()

    assert not case.path.exists()
    assert (case.workspace.root / "late" / layout.PREDICTIONS).exists()
    assert "is late" in case.rows("gap")[-1]["what"]


@pytest.mark.forbids
@pytest.mark.parametrize("then", ["changed", "removed"])
def test_the_registered_text_is_put_back(case: Case, then: str) -> None:
    prepared.predict(case.workspace.root)
    case.register()
    before = case.path.read_bytes()
    case.path.write_bytes(b"{}") if then == "changed" else case.path.unlink()

    case.withdraw()
    case.withdraw()  # again, as a resumed sealing would

    assert case.path.read_bytes() == before
    assert len(case.rows("gap")) == 1
