"""How a run of real vLLM ends when something is wrong: each end clear, sealed where it ran, nothing left."""

import json
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.environments import records
from tests.engines_real import home
from tests.engines_real.home import Run
from tests.engines_real.watched import Watched, engines_of

pytestmark = [pytest.mark.engine_env, pytest.mark.timeout(900)]
STUDY = "study=smollm2_vllm"
INSTALLED, OTHER = "vllm-0.32.0-cpu", "vllm-0.32.1-cpu"


def sealed_as_failed(run: Run) -> str:
    """The reason of a run that failed; its bundle is sealed and nothing of its engine is left."""
    assert (run.exit_code, run.said["state"]) == (1, "failed")
    assert (run.bundle / "manifest.sha256").is_file()
    assert engines_of(run.home) == []
    return str(run.said["reason"])


def stopped(run: Run) -> dict[str, object]:
    """What the keeper said after the stop."""
    (row,) = [row for row in run.lines("session.jsonl") if row["event"] == "stop"]
    return dict(row["keeper"])


@pytest.fixture
def port_held() -> Iterator[socket.socket]:
    """A listener of this test on a port of its own."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener


@pytest.fixture
def mislabelled() -> Iterator[Path]:
    """The installed environment once more under another version, as if its record were of another engine."""
    folder = home.folder() / "engines"
    copy = folder / OTHER
    shutil.copytree(folder / INSTALLED, copy, symlinks=True, copy_function=os.link)
    document = json.loads((copy / records.RECORD).read_bytes())
    document["pin"]["version"] = "0.32.1"
    (copy / records.RECORD).unlink()  # a link to the installed one's own
    (copy / records.RECORD).write_text(json.dumps(document))
    yield copy
    shutil.rmtree(copy)


def refused(run: Run) -> dict[str, str]:
    """The only finding of a run that was refused; nothing of an engine was started for it."""
    (finding,) = run.said["refused"]
    assert engines_of(run.home) == []
    return dict(finding)


def test_a_version_that_is_not_installed_is_refused_with_the_command_to_get_it() -> None:
    before = set((home.folder() / "executions").glob("*"))

    run = home.assay_run(STUDY, "engine.version=0.32.1", timeout_s=120)

    finding = refused(run)
    assert (run.exit_code, finding["field"]) == (3, "engine.environment")
    assert f"there: {INSTALLED}" in finding["seen"]
    assert "assay engines install vllm==0.32.1 --variant cpu" in finding["seen"]
    assert set((home.folder() / "executions").glob("*")) == before


@pytest.mark.parametrize(
    ("flag", "nearest"),
    [
        ("max-num-queued-requests", "--max-num-queued-reqs"),
        # a third party reports it as gone since 0.27: the installed parser decides
        ("max-long-partial-prefills", ""),
    ],
)
def test_a_flag_that_the_installed_version_does_not_take_is_refused(
    flag: str, nearest: str, tmp_path: Path
) -> None:
    group = tmp_path / "engine" / "odd.yaml"
    group.parent.mkdir()
    group.write_text(f"defaults: [vllm, _self_]\nsettings: {{flags: {{{flag}: '4'}}}}\n")

    run = home.assay_run(STUDY, "engine=odd", "--studies", str(tmp_path), timeout_s=120)

    finding = refused(run)
    assert (run.exit_code, finding["field"]) == (2, f"engine.settings.flags.--{flag}")
    assert nearest in finding["remedy"]


def test_a_declared_port_that_somebody_holds_is_refused_and_its_holder_left_alone(
    port_held: socket.socket,
) -> None:
    port = port_held.getsockname()[1]

    run = home.assay_run(STUDY, f"engine.port={port}", timeout_s=120)

    assert (run.exit_code, refused(run)["field"]) == (3, "engine.port")
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass


def test_a_port_that_is_taken_while_the_engine_loads_ends_the_run_and_names_the_holder() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = Watched(STUDY, f"engine.port={port}")
    running.until("launch")
    with socket.socket() as stranger:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger.bind(("127.0.0.1", port))
        stranger.listen()

        reason = sealed_as_failed(running.result(within_s=300))

        assert f"{port} is held by process {os.getpid()}" in reason


def test_an_engine_that_hangs_at_its_start_is_given_up_after_its_time_and_killed() -> None:
    running = Watched(STUDY, "engine.ready_timeout_s=20", "engine.stop_timeout_s=3")
    running.until("launch")
    api_server = running.process("api_server", within_s=20)

    api_server.send_signal(signal.SIGSTOP)
    run = running.result(within_s=200)

    reason = sealed_as_failed(run)
    assert reason.startswith("engine.ready_timeout_s: not ready after 20 s")
    assert stopped(run)["processes_left"] == []
    assert stopped(run)["port_free"] is True


@pytest.mark.req("7.14", "7.08")
@pytest.mark.usefixtures("mislabelled")
def test_an_engine_of_another_version_than_its_pin_ends_the_run_by_name() -> None:
    asked = "engine.settings.attention_backend=FLASH_ATTN"
    run = home.assay_run(STUDY, "engine.version=0.32.1", asked, timeout_s=600)

    reason = sealed_as_failed(run)
    assert "version is 0.32.0, pin says 0.32.1" in reason
    assert run.table("attempts.parquet") == []
    assert stopped(run)["processes_left"] == []
    # the same start asked for an attention back end of devices: the engine itself turned it down
    kernels = run.document("identity.json")["run"][3]
    assert kernels["ran"]["attention_refused"] == "FLASH_ATTN"


def test_an_engine_that_is_killed_in_mid_run_ends_the_run_as_failed_and_leaves_no_process() -> None:
    running = Watched(STUDY, "workload.output_tokens=400")
    running.until("measure")

    running.process("EngineCore", within_s=30).kill()
    run = running.result(within_s=600)

    assert "engine" in sealed_as_failed(run)
