"""``python -m runners``: verbs, exit codes, one JSON document on standard output."""

import json
from pathlib import Path

import pytest

from runners import doctor
from runners.__main__ import main
from runners.engines.torch import versions


def test_a_reap_of_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reap", str(tmp_path)]) == 2

    told = capsys.readouterr()
    assert json.loads(told.out)["ok"] is False
    assert "error: " in told.err
    assert list(tmp_path.iterdir()) == []


def test_a_state_that_is_no_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["reap", str(tmp_path), "--state", "sealed"])

    assert exit_info.value.code == 2


def test_the_doctor_knows_every_engine_of_the_catalogue(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["doctor", "--json"])

    checks = json.loads(capsys.readouterr().out)["checks"]
    assert "engine torch" in {c["name"] for c in checks}
    assert any(c["name"].startswith("artifact ") for c in checks)
    assert {c["state"] for c in checks} <= {"ok", "missing", "optional"}
    assert (code == 0) == all(c["state"] != "missing" for c in checks)


def test_a_missing_engine_package_is_said_beside_the_command_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "runners.engines.torch.versions.installed",
        lambda package: None if package == "torch" else versions.PINS.get(package, "1"),
    )

    assert doctor.main(as_json=True) == 3

    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["checks"]}
    assert rows["engine torch"]["state"] == "missing"
    assert "no torch is installed" in rows["engine torch"]["seen"]
    assert "-m pip install 'torch==" in rows["engine torch"]["remedy"]
    assert "Run:" not in rows["engine torch"]["seen"]


def test_an_artifact_that_is_not_here_is_missing_with_the_command_to_get_it() -> None:
    source = {"kind": "package", "package": "no-such-model", "version": "1", "path": "x"}
    artifact = {"name": "ghost", "source": source, "revision": "no-such-model==1", "files": []}

    check = doctor._artifact(artifact)

    assert check.state == "missing"
    assert check.remedy is not None
    assert "pip install" in check.remedy
