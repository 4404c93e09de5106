"""kill -9 of a worker in mid-run, on the real engine and on both stacks."""

import signal
import time
from pathlib import Path

import psutil
import pytest

from runners.protocol import manifest
from tests.stacks import LEASE_S, Stack, wait_until

pytestmark = [pytest.mark.fault, pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

LONG = ("study=smollm2_smoke", "workload.requests=400", "prediction.enabled=false")
SHORT = ("study=smollm2_smoke", "prediction.enabled=false")
READY_S = 300.0  # the model has to load, on a machine that may be busy


def processes_of(execution: str) -> list[psutil.Process]:
    """Every live process that names this execution in its environment or on its command line."""
    found = []
    for process in psutil.process_iter():
        try:
            named = process.environ().get("ASSAY_EXECUTION") == execution
            if named or any(execution in word for word in process.cmdline()):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def is_measuring(stack: Stack, run: str) -> bool:
    found = stack.show(run)
    assert found["state"] in {"queued", "running"}, f"{found['state']}: {found['reason']}"
    return bool(found["progress"].get("phase") == "measure")


def test_no_engine_is_left_the_run_is_lost_and_a_new_one_works(stack: Stack) -> None:
    worker = stack.start("worker")
    run = stack.submit(*LONG)
    wait_until(lambda: is_measuring(stack, run), seconds=READY_S, what=stack.logs)
    (execution,) = (p.name for p in (stack.home / "executions").iterdir())
    assert len(processes_of(execution)) >= 2, "the engine and its keeper"

    worker.send_signal(signal.SIGKILL)
    worker.wait()
    killed_at = time.monotonic()

    wait_until(lambda: not processes_of(execution), seconds=60)
    lost = stack.wait_for_state(run, "lost", seconds=max(0.0, LEASE_S - since(killed_at)) + 10)
    # `show` on the worker's own machine sees that its process is gone; elsewhere the lease tells
    assert "process is gone" in lost["reason"] or "no sign of life" in lost["reason"]

    stack.start("worker")
    again = stack.submit(*SHORT)
    sealed = stack.wait_for_state(again, "sealed", seconds=READY_S)
    assert sealed["ledgers"]["client"]["completed"] > 0

    remains = stack.show(run)
    assert (remains["state"], remains["bundle"] is not None) == ("lost", True)
    assert manifest.verify(Path(remains["bundle"])).ok
    assert manifest.read(Path(remains["bundle"]))["state"] == "lost"
    assert any("cut" in g["what"] or "gone" in g["what"] for g in remains["gaps"])


def since(start: float) -> float:
    return time.monotonic() - start
