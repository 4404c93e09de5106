"""kill -9 of worker, runner, scheduler and dashboard, in each phase of a run."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from runners.protocol import manifest
from tests.faults.database import NOTHING_LEFT, leftovers, states, value
from tests.faults.processes import processes_below
from tests.stacks import Stack, wait_until

pytestmark = [pytest.mark.fault, pytest.mark.slow]
SMOKE = ("study=smollm2_smoke", "prediction.enabled=false")
LOST_WITHIN_S = 60.0


@pytest.mark.parametrize("stack", ["embedded"], indirect=True)
def test_a_worker_killed_in_any_phase_loses_that_run_and_nothing_else(
    fake: Stack, behave: Callable[..., None], tmp_path: Path
) -> None:
    worker = fake.start("worker")
    lost = []
    for phase in ("prepare", "execute", "seal", "interpret"):
        mark = tmp_path / f"at-{phase}"
        behave(hang_in=phase, mark=str(mark))
        run = fake.submit(*SMOKE)
        wait_until(mark.exists, seconds=120, what=fake.logs)

        worker.kill()
        worker.wait()
        behave()
        worker = fake.start("worker")
        wait_until(lambda: leftovers(fake) == NOTHING_LEFT, seconds=LOST_WITHIN_S, what=fake.logs)
        assert fake.state(run) == "lost"
        lost.append(run)

    after = fake.submit(*SMOKE)
    wait_until(lambda: fake.state(after) == "sealed", seconds=120, what=fake.logs)

    assert states(fake) == {"lost": 4, "sealed": 1}
    assert leftovers(fake) == NOTHING_LEFT
    # killed before there was anything to keep; from then on what was captured is kept, whole
    bundles = [shown["bundle"] for shown in map(fake.show, lost)]
    assert [bundle is not None for bundle in bundles] == [False, True, True, True]
    assert all(manifest.verify(Path(bundle)).ok for bundle in bundles if bundle)
    assert list((fake.home / "executions").iterdir()) == []
    assert [p.pid for p in processes_below(fake.home)] == [worker.pid]


@pytest.mark.parametrize("stack", ["embedded"], indirect=True)
def test_a_killed_runner_fails_its_run_and_the_worker_goes_on(
    fake: Stack, behave: Callable[..., None], tmp_path: Path
) -> None:
    fake.start("worker")
    mark = tmp_path / "at-execute"
    behave(hang_in="execute", mark=str(mark))
    run = fake.submit(*SMOKE)
    wait_until(mark.exists, seconds=120, what=fake.logs)

    behave()
    os.kill(int(mark.read_text()), signal.SIGKILL)
    after = fake.submit(*SMOKE)

    wait_until(lambda: fake.state(after) == "sealed", seconds=120, what=fake.logs)
    assert fake.show(run)["reason"].startswith("the runner ended with exit code -9")
    assert states(fake) == {"failed": 1, "sealed": 1}
    assert leftovers(fake) == NOTHING_LEFT


@pytest.mark.parametrize("stack", ["team"], indirect=True)
def test_killed_beat_and_web_cost_no_run(fake: Stack, behave: Callable[..., None]) -> None:
    """The scheduler is started again by whoever keeps it; a run needs neither of them to end."""
    fake.start("worker")
    beat, web = fake.start("beat"), fake.start("web", "--port", str(free_port()))
    behave(seconds=4)
    run = fake.submit(*SMOKE)
    wait_until(lambda: fake.state(run) == "running", seconds=120, what=fake.logs)

    for process in (beat, web):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    wait_until(lambda: fake.state(run) == "sealed", seconds=120, what=fake.logs)
    # without a scheduler a submitted run is found by its nudge; with the next one by the poll as well
    behave()
    again = fake.submit(*SMOKE)
    wait_until(lambda: fake.state(again) == "sealed", seconds=120, what=fake.logs)
    assert leftovers(fake) == NOTHING_LEFT


@pytest.mark.parametrize("stack", ["team"], indirect=True)
def test_a_message_that_comes_twice_or_much_later_runs_nothing_twice(
    fake: Stack, behave: Callable[..., None]
) -> None:
    behave(seconds=1)
    fake.start("worker")
    wait_until(lambda: fake.rows("SELECT 1 FROM execution_registration") != [], seconds=120)
    run = fake.submit(*SMOKE)
    redeliver(fake, times=5)
    wait_until(lambda: fake.state(run) == "sealed", seconds=120, what=fake.logs)

    redeliver(fake, times=5)  # as a broker does after its visibility time-out, an hour later
    behave()
    after = fake.submit(*SMOKE)

    wait_until(lambda: fake.state(after) == "sealed", seconds=120, what=fake.logs)
    assert leftovers(fake) == NOTHING_LEFT
    assert value(fake, "SELECT count(*) FROM execution_execution") == 2


def redeliver(stack: Stack, *, times: int) -> None:
    """The nudge again, straight into the broker and without a limit of its life."""
    import json
    import uuid

    import redis

    client = redis.Redis.from_url(stack.variables["ASSAY_REDIS_URL"])
    for _ in range(times):
        one = str(uuid.uuid4())
        headers = {
            "task": "assay.execution.tasks.next_run",
            "id": one,
            "lang": "py",
            "argsrepr": "()",
        }
        properties = {
            "correlation_id": one,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": "cpu"},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": one,
        }
        body = "W1tdLCB7fSwge31d"  # [[], {}, {}]
        message = {
            "body": body,
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": headers,
            "properties": properties,
        }
        client.lpush("cpu", json.dumps(message))
    client.close()


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
