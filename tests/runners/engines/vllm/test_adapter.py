"""How a run finds the pinned environment and what it launches from it."""

from pathlib import Path
from typing import Any

import pytest

from runners.engines.base import LaunchContext, LaunchPlan
from runners.engines.vllm.adapter import ADAPTER
from runners.environments import records
from runners.environments.records import Environment
from runners.protocol.errors import EnvironmentLacks, Refused
from tests.runners.engines.vllm import declared
from tests.runners.engines.vllm.declared import spec


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
    assert command[0].endswith("/engines/vllm-0.32.0-cpu/bin/python")
    assert command[1:3] == ["-m", "vllm.entrypoints.openai.api_server"]
    assert command[command.index("--model") + 1] == str(tmp_path / "model")
    assert command[command.index("--port") + 1] == "8999"
    assert found.environment["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert found.environment["OMP_NUM_THREADS"] == "2"
    assert found.environment["HF_HUB_OFFLINE"] == "1"
    assert found.events_file == tmp_path / "bundle" / "engine_events.jsonl"


@pytest.mark.usefixtures("installed")
def test_a_gpu_start_takes_none_of_the_variables_of_a_cpu(tmp_path: Path) -> None:
    document = spec(threads=None, thread_binding=None, batch_invariant=True, model_runner="v1")
    document["device"]["kind"] = "cuda"

    environment = plan(tmp_path, document).environment

    assert not [name for name in environment if name.startswith(("VLLM_CPU", "OMP_"))]
    assert environment["VLLM_BATCH_INVARIANT"] == "1"
    assert environment["VLLM_USE_V2_MODEL_RUNNER"] == "0"


@pytest.mark.req("7.21")
def test_another_version_than_the_installed_one_is_named_with_the_command_to_get_it(
    installed: Environment,
) -> None:
    document = spec()
    document["engine"]["version"] = "0.33.0"

    problem = ADAPTER.environment_problem(document)

    assert problem is not None
    assert "vllm 0.33.0 with lock" in problem
    assert "there: vllm-0.32.0-cpu" in problem
    assert problem.endswith(". Run: assay engines install vllm==0.33.0 --variant cpu")


def test_the_same_version_from_another_lock_is_another_environment(installed: Environment) -> None:
    document = spec()
    document["engine"]["environment"]["lock_sha256"] = "0" * 64

    problem = ADAPTER.environment_problem(document)

    assert problem is not None
    assert f"with lock {'0' * 64} is not installed" in problem
    with pytest.raises(EnvironmentLacks, match="is not installed"):
        plan(installed.folder, document)


@pytest.mark.parametrize("spoilt", [records.LOCK, "bin/python"])
def test_an_environment_that_was_changed_is_not_started(
    installed: Environment, spoilt: str
) -> None:
    path = installed.folder / spoilt
    if spoilt == records.LOCK:
        path.write_text(path.read_text().replace("0.32.0", "0.32.1"))
    else:
        path.unlink()

    problem = ADAPTER.environment_problem(spec())

    assert problem is not None
    assert "vllm-0.32.0-cpu: its lock.txt has" in problem or "is not there" in problem
    assert "assay engines remove vllm-0.32.0-cpu && assay engines install" in problem


def test_a_removed_flag_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    declared.install(tmp_path, without=("--scheduling-policy",))

    with pytest.raises(Refused, match=r"--scheduling-policy is no flag of version 0\.32\.0"):
        ADAPTER.environment_problem(spec())


def test_vllm_never_runs_in_the_environment_of_the_platform(installed: Environment) -> None:
    document = spec()
    document["engine"]["environment"]["kind"] = "platform"

    problem = ADAPTER.environment_problem(document)

    assert problem is not None
    assert "in an environment of its own" in problem
