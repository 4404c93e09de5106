"""How the application is set up: the database is the queue, a message is a nudge."""

from pathlib import Path

import pytest
from kombu import Connection
from kombu.exceptions import OperationalError

from assay.execution import nudging, tasks, work
from assay.execution.celery import app
from assay.ledger.models import Run
from tests.assay.specs import queued_study


def test_messages_are_acknowledged_early_and_taken_one_at_a_time() -> None:
    assert app.conf.task_acks_late is False
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.result_backend is None
    assert app.conf.worker_enable_remote_control is False
    assert set(app.conf.accept_content) == {"json"}


def test_what_is_done_at_intervals_is_scheduled_in_the_database() -> None:
    assert app.conf.beat_scheduler == "django_celery_beat.schedulers:DatabaseScheduler"
    sent = {entry["task"] for entry in app.conf.beat_schedule.values()}
    names = ("poll", "reap", "deliver", "tick_schedules")
    assert sent == {f"assay.execution.tasks.{name}" for name in names}
    assert sent <= set(app.tasks)
    assert all("expires" in e["options"] for e in app.conf.beat_schedule.values())


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    from assay.execution import broker

    url, options = broker.install(tmp_path / "broker")
    broker.Transport.global_state.clear()  # kombu remembers bindings, and this folder is new
    monkeypatch.setattr(
        app, "connection_for_write", lambda: Connection(url, transport_options=options)
    )
    seen: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda _name, queue, **_: seen.append(queue))
    return seen


@pytest.mark.django_db
def test_the_poll_nudges_the_queues_in_which_something_waits(sent: list[str]) -> None:
    queued_study(kind="cuda")
    queued_study(reserved_by="somebody")  # an inline run: no worker may have it

    tasks.poll()

    assert work.queues_with_work() == ["cuda"]
    assert sent == ["cuda"]


@pytest.mark.django_db
def test_a_cancelled_run_is_no_work(sent: list[str]) -> None:
    queued_study()
    Run.objects.update(cancel_requested=True)

    tasks.poll()

    assert sent == []


def test_a_queue_that_nobody_serves_does_not_grow(
    sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with app.connection_for_write() as connection, connection.SimpleQueue("cuda") as queue:
        for _ in range(nudging.ENOUGH):
            queue.put({})

    assert nudging.nudge("cuda") is False
    assert sent == []


def test_a_broker_that_is_away_is_no_reason_to_fail(
    sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_arguments: object, **_named: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(app, "send_task", away)

    assert nudging.nudge("cpu") is False
