"""How a run finds the pinned environment of SGLang and what it launches from it."""

from pathlib import Path
from typing import Any

import pytest

from runners.engines.base import LaunchContext, LaunchPlan
from runners.engines.sglang.adapter import ADAPTER
from runners.engines.sglang.environment import STAND_INS, STAND_INS_FOLDER
from runners.environments.records import Environment
from runners.protocol.errors import EnvironmentLacks, Refused
from tests.runners.engines.sglang import declared
from tests.runners.engines.sglang.declared import spec


def plan(folder: Path, document: dict[str, Any] | None = None) -> LaunchPlan:
    document = document or spec()
    files = {e["path"]: folder / "model" / e["path"] for e in document["artifact"]["files"]}
    return ADAPTER.launch(
        LaunchContext(
            spec=document,
            artifact_files=files,
            bundle=folder / "bundle",
            scratch=folder,
            port=8999,
            execution_id="execution-1",
        )
    )


def test_an_installed_environment_of_the_pinned_lock_lacks_nothing(installed: Environment) -> None:
    assert ADAPTER.environment_problem(spec()) is None


@pytest.mark.usefixtures("installed")
def test_the_engine_runs_with_its_own_interpreter_on_the_verified_folder(tmp_path: Path) -> None:
    found = plan(tmp_path)

    command = list(found.command)
    assert command[0].endswith("/engines/sglang-0.5.23-cpu/bin/python")
    assert command[1:3] == ["-m", "sglang.launch_server"]
    assert command[command.index("--model-path") + 1] == str(tmp_path / "model")
    assert command[command.index("--port") + 1] == "8999"
    assert command[command.index("--device") + 1] == "cpu"
    assert found.environment["SGLANG_TORCH_PROFILER_DIR"] == str(tmp_path / "bundle" / "trace")
    assert found.environment["SGLANG_LOG_REQUEST_HEADERS"] == "x-request-id"
    assert found.environment["OMP_NUM_THREADS"] == "2"


@pytest.mark.usefixtures("installed")
def test_stand_ins_are_imported_on_a_cpu_and_nowhere_else(tmp_path: Path) -> None:
    on_device = spec(threads=None)
    on_device["device"]["kind"] = "cuda"

    here, there = plan(tmp_path).environment, plan(tmp_path, on_device).environment

    assert here["PYTHONPATH"] == str(STAND_INS_FOLDER)
    assert all((STAND_INS_FOLDER / f"{name}.py").is_file() for name in STAND_INS)
    assert not {"PYTHONPATH", "SGLANG_USE_CPU_ENGINE", "OMP_NUM_THREADS"} & set(there)


def test_a_run_never_polls_a_path_that_generates() -> None:
    # /health and /health_generate make a token each
    assert ADAPTER.health_path() == "/ready"


@pytest.mark.req("7.21")
def test_another_version_than_the_installed_one_is_named_with_the_command_to_get_it(
    installed: Environment,
) -> None:
    document = spec()
    document["engine"]["version"] = "0.5.22"

    problem = ADAPTER.environment_problem(document)

    assert problem is not None
    assert "sglang 0.5.22 with lock" in problem
    assert "there: sglang-0.5.23-cpu" in problem
    assert problem.endswith(". Run: assay engines install sglang==0.5.22 --variant cpu")


def test_the_same_version_from_another_lock_is_another_environment(installed: Environment) -> None:
    document = spec()
    document["engine"]["environment"]["lock_sha256"] = "0" * 64

    assert f"with lock {'0' * 64} is not installed" in str(ADAPTER.environment_problem(document))
    with pytest.raises(EnvironmentLacks, match="is not installed"):
        plan(installed.folder, document)


def test_an_environment_that_was_changed_is_not_started(installed: Environment) -> None:
    (installed.folder / "bin" / "python").unlink()

    problem = ADAPTER.environment_problem(spec())

    assert "assay engines remove sglang-0.5.23-cpu && assay engines install" in str(problem)


def test_a_removed_flag_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    declared.install(tmp_path, without=("--schedule-policy",))

    with pytest.raises(Refused, match=r"--schedule-policy is no flag of version 0\.5\.23"):
        ADAPTER.environment_problem(spec())


def test_sglang_never_runs_in_the_environment_of_the_platform(installed: Environment) -> None:
    document = spec()
    document["engine"]["environment"]["kind"] = "platform"

    assert "in an environment of its own" in str(ADAPTER.environment_problem(document))
