"""Fake runner and interpreter, a home and short leases."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from assay.archive.paths import Home
from assay.execution.machine import Worker, this_worker
from assay.execution.offers import Offer
from tests.assay.specs import kept, offered

HERE = Path(__file__).parent / "execution"


@pytest.fixture
def home(assay_home: Home, settings: Settings) -> Home:
    settings.RUNNER_COMMAND = [sys.executable, str(HERE / "fake_runner.py")]
    settings.INTERPRETER_COMMAND = [sys.executable, str(HERE / "fake_interpreter.py")]
    settings.HEARTBEAT_S = 0.2
    return assay_home


@pytest.fixture
def behave(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def tell(**behaviour: object) -> None:
        monkeypatch.setenv("FAKE_RUNNER", json.dumps(behaviour))

    return tell


@pytest.fixture
def worker() -> Worker:
    return this_worker()


@pytest.fixture
def dead_worker(worker: Worker) -> Worker:
    """A worker of this machine whose process id was never one."""
    return Worker(host=worker.host, boot=worker.boot, pid=2**30, started="1")


@pytest.fixture
def offer(db: None) -> Offer:
    """What a machine with one processor and the engine of the ready declarations offers."""
    return kept(offered())
