"""A real Celery worker on both stacks, over a runner that keeps the contract and measures nothing."""

import json
import signal

import pytest

from tests.stacks import LEASE_S, Stack

pytestmark = [pytest.mark.slow, pytest.mark.fault]  # workers are killed, stopped and starved here
SMOKE = ("study=smollm2_smoke", "prediction.enabled=false")


@pytest.fixture
def fake_stack(stack: Stack) -> Stack:
    stack.variables["DJANGO_SETTINGS_MODULE"] = "tests.fake_runner_settings"
    return stack


def behave(stack: Stack, **behaviour: object) -> None:
    stack.variables["FAKE_RUNNER"] = json.dumps(behaviour)


def test_a_submitted_run_is_carried_out_by_a_worker(fake_stack: Stack) -> None:
    fake_stack.start("worker")

    run = fake_stack.submit(*SMOKE)

    found = fake_stack.wait_for_state(run, "sealed", seconds=30)
    assert found["ledgers"]["client"] == {"cancelled": 1}


def test_the_poll_finds_a_run_whose_message_was_lost(fake_stack: Stack) -> None:
    run = fake_stack.submit(*SMOKE)
    # a worker purges the queues when it starts: the nudge of the submit is gone by then
    fake_stack.start("worker")
    fake_stack.start("beat")

    fake_stack.wait_for_state(run, "sealed", seconds=30)


def test_a_cancel_goes_through_the_database(fake_stack: Stack) -> None:
    behave(fake_stack, execute="hang")
    fake_stack.start("worker")
    run = fake_stack.submit(*SMOKE)
    fake_stack.wait_for_state(run, "running", seconds=30)

    assert fake_stack.assay("cancel", run).returncode == 0

    found = fake_stack.wait_for_state(run, "aborted", seconds=30)
    assert found["bundle"] is not None


def test_a_worker_that_is_told_to_end_seals_its_run_as_aborted(fake_stack: Stack) -> None:
    behave(fake_stack, execute="hang")
    worker = fake_stack.start("worker")
    run = fake_stack.submit(*SMOKE)
    fake_stack.wait_for_state(run, "running", seconds=30)

    worker.send_signal(signal.SIGTERM)
    worker.wait(30)

    found = fake_stack.show(run)
    assert found["state"] == "aborted", fake_stack.logs()
    assert found["bundle"] is not None


@pytest.mark.fault
def test_a_killed_worker_loses_its_run_within_the_lease_and_the_next_one_works(
    fake_stack: Stack,
) -> None:
    behave(fake_stack, execute="hang")
    worker = fake_stack.start("worker")
    run = fake_stack.submit(*SMOKE)
    fake_stack.wait_for_state(run, "running", seconds=30)

    worker.kill()
    worker.wait()
    lost = fake_stack.wait_for_state(run, "lost", seconds=LEASE_S + 5)
    behave(fake_stack)
    fake_stack.start("worker")
    again = fake_stack.submit(*SMOKE)

    # `show` asks on the worker's own machine, where the process tells before the lease does
    assert lost["reason"] == "its worker process is gone"
    fake_stack.wait_for_state(again, "sealed", seconds=30)
    swept = fake_stack.show(run)
    assert swept["state"] == "lost"
    assert swept["bundle"] is not None, fake_stack.logs()
