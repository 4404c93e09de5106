"""Ctrl-C on ``assay run`` in mid-run, on the real engine."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.protocol import manifest
from tests.faults.test_worker_kill import LONG, READY_S, processes_of
from tests.stacks import Stack, wait_until

pytestmark = [pytest.mark.fault, pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Stack]:
    made = Stack(home=tmp_path / "home", variables={})
    yield made
    made.stop()


def test_ctrl_c_seals_as_aborted_with_130_and_leaves_no_process(installation: Stack) -> None:
    out, log = installation.home.parent / "out.json", installation.home.parent / "run.log"
    with out.open("wb") as stdout, log.open("wb") as stderr:
        command = subprocess.Popen(
            [sys.executable, "-P", "-m", "assay.cli.main", "run", *LONG, "--json"],
            cwd=installation.home.parent,
            env=installation.environment,
            stdout=stdout,
            stderr=stderr,
        )
    installation.started.append(command)
    wait_until(lambda: "\nmeasure" in log.read_text(), seconds=READY_S, what=log.read_text)
    (execution,) = (p.name for p in (installation.home / "executions").iterdir())

    command.send_signal(signal.SIGINT)
    code = command.wait(120)

    found = json.loads(out.read_bytes())
    assert code == 130, log.read_text()
    assert (found["state"], found["reason"]) == ("aborted", "interrupted by SIGINT")
    assert manifest.verify(Path(found["bundle"])).ok
    assert manifest.read(Path(found["bundle"]))["state"] == "aborted"
    assert processes_of(execution) == []
    assert list((installation.home / "executions").iterdir()) == []
