"""Pins of the environment, and the command that starts the engine."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from runners.engines.base import LaunchContext
from runners.engines.torch import versions
from runners.engines.torch.adapter import ADAPTER
from runners.protocol.clocks import clock_domain
from runners.protocol.errors import Refused
from tests.runners.engines.torch.launched import ROOT, spec


def context(tmp_path: Path, declared: dict[str, Any]) -> LaunchContext:
    return LaunchContext(
        spec=declared,
        artifact_files={"SmolLM2-135M-Instruct.Q4_1.gguf": tmp_path / "model.gguf"},
        bundle=tmp_path / "bundle",
        scratch=tmp_path,
        port=8123,
        execution_id="execution-1",
    )


def test_nothing_is_missing_here() -> None:
    assert ADAPTER.environment_problem(spec()) is None


@pytest.mark.parametrize("package", ["torch", "transformers", "gguf"])
def test_another_version_than_the_pin_is_named_with_the_command(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = versions.installed
    monkeypatch.setattr(
        versions, "installed", lambda name: "9.9.9" if name == package else real(name)
    )

    problem = ADAPTER.environment_problem(spec())

    wanted = {"torch": "2.13.0", **versions.PINS}[package]
    assert problem is not None
    assert f"{package} {wanted} and {package} 9.9.9 is installed" in problem
    assert f"{sys.executable} -m pip install '{package}=={wanted}'" in problem


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = versions.installed
    monkeypatch.setattr(versions, "installed", lambda name: None if name == "torch" else real(name))

    problem = ADAPTER.environment_problem(spec())

    assert problem is not None
    assert "no torch is installed" in problem


def test_a_build_of_the_pinned_version_is_the_pinned_version() -> None:
    assert versions.public("2.13.0+cpu") == "2.13.0"
    declared = spec()
    declared["engine"]["version"] = "2.12.0"
    assert "pinned to torch 2.12.0" in str(ADAPTER.environment_problem(declared))


def test_another_kind_of_environment_is_refused() -> None:
    declared = spec()
    declared["engine"]["environment"]["kind"] = "venv"

    assert "engine.environment.kind is venv" in str(ADAPTER.environment_problem(declared))


def test_a_lock_that_is_declared_must_be_the_platforms_own() -> None:
    declared = spec()
    declared["engine"]["environment"]["lock_sha256"] = versions.platform_lock()
    assert ADAPTER.environment_problem(declared) is None
    declared["engine"]["environment"]["lock_sha256"] = "0" * 64

    problem = str(ADAPTER.environment_problem(declared))

    assert f"lock has sha256 {versions.platform_lock()}, pin says {'0' * 64}" in problem


def test_settings_that_cannot_run_are_a_problem_before_the_launch() -> None:
    assert "token_budget: 2" in str(ADAPTER.environment_problem(spec(token_budget=2)))


def test_the_launch_writes_one_configuration_and_names_one_command(tmp_path: Path) -> None:
    plan = ADAPTER.launch(context(tmp_path, spec()))

    config = tmp_path / "torch_engine.json"
    assert list(plan.command) == [
        *(sys.executable, "-m", "runners.engines.torch", "--config"),
        str(config),
    ]
    assert plan.base_url == "http://127.0.0.1:8123"
    assert plan.events_file == tmp_path / "bundle" / "engine_events.jsonl"
    assert plan.clock_domain == clock_domain()
    assert plan.environment["PYTHONPATH"] == str(ROOT)
    written = json.loads(config.read_text())
    assert written["settings"]["kv_blocks"] == 512
    assert written["weight_file"] == str(tmp_path / "model.gguf")
    assert written["generation"]["eos_token_ids"] == [2]


@pytest.mark.forbids
def test_an_artifact_in_a_form_it_cannot_read_is_refused(tmp_path: Path) -> None:
    declared = spec()
    declared["artifact"]["files"][0]["format"] = "bin"

    with pytest.raises(Refused, match=r"artifact\.files: bin \(allowed: gguf, safetensors\)"):
        ADAPTER.launch(context(tmp_path, declared))


def test_the_build_digest_moves_with_the_source(tmp_path: Path) -> None:
    digest = versions.build_digest()

    assert len(digest) == 64
    assert digest == versions.build_digest()
