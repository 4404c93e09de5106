"""What a run would launch of TensorRT-LLM, by its documentation."""

from pathlib import Path

import pytest
import yaml

from runners.engines.base import LaunchContext, LaunchPlan
from runners.engines.tensorrt_llm.adapter import ADAPTER
from tests.runners.engines.tensorrt_llm import declared


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LaunchPlan:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    declared.install(tmp_path / "home")
    document = declared.spec()
    assert ADAPTER.environment_problem(document) is None
    return ADAPTER.launch(
        LaunchContext(
            spec=document,
            artifact_files={"model.safetensors": tmp_path / "model" / "model.safetensors"},
            bundle=tmp_path / "bundle",
            scratch=tmp_path,
            port=8999,
            execution_id="execution-1",
        )
    )


def test_the_server_of_its_own_environment_gets_the_verified_folder(
    plan: LaunchPlan, tmp_path: Path
) -> None:
    command = list(plan.command)

    assert command[0].endswith("/engines/tensorrt_llm-1.2.1-cuda/bin/trtllm-serve")
    assert command[1] == str(tmp_path / "model")
    assert command[command.index("--backend") + 1] == "pytorch"
    assert command[command.index("--port") + 1] == "8999"


def test_its_file_lies_in_the_scratch_folder_and_is_named_last(
    plan: LaunchPlan, tmp_path: Path
) -> None:
    flag, file = plan.command[-2:]

    assert (flag, file) == ("--config", str(tmp_path / "trtllm.yaml"))
    assert yaml.safe_load(Path(file).read_text())["print_iter_log"] is True


def test_nothing_that_is_polled_generates_or_empties_a_queue() -> None:
    assert ADAPTER.health_path() == "/health"
    assert ADAPTER.metrics_path() == "/prometheus/metrics"  # /metrics is emptied by reading


def test_no_profile_is_started_by_a_call() -> None:
    assert ADAPTER.profile_start() is None
    assert ADAPTER.profile_stop() is None
