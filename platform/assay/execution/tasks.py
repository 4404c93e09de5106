"""Celery's tasks: no arguments, one service each, safe to run twice."""

import threading
from typing import Any

from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from django.conf import settings

from assay.archive.paths import Home
from assay.execution import reaper, scheduled
from assay.execution.celery import app
from assay.execution.machine import this_worker
from assay.execution.nudging import nudge
from assay.execution.serving import Serving
from assay.execution.work import queues_with_work, work_off
from assay.notifications import delivering

stopping = threading.Event()
serving = Serving(Home(settings.HOME), settings.QUEUES)


@app.task(name="assay.execution.tasks.next_run")
def next_run() -> None:
    """Somebody says there is work: take the next eligible run, and the one after it."""
    work_off(this_worker(), Home(settings.HOME), offer=serving.offer(), should_stop=stopping.is_set)


@app.task(name="assay.execution.tasks.poll")
def poll() -> None:
    """Nudge again for runs whose message a broker lost."""
    for queue in queues_with_work():
        nudge(queue)


@app.task(name="assay.execution.tasks.reap")
def reap() -> None:
    """End what dead workers left."""
    reaper.expire()
    reaper.sweep(Home(settings.HOME))


@app.task(name="assay.execution.tasks.tick_schedules")
def tick_schedules() -> None:
    """Slots of schedules become studies; scheduled runs that ended get their answers."""
    scheduled.tick()


@app.task(name="assay.execution.tasks.deliver")
def deliver() -> None:
    """Send what people asked to be told; a few messages at a time, within a few seconds."""
    delivering.deliver_due()
    delivering.forget_old()


@worker_ready.connect
def _sweep_at_start(**_kwargs: Any) -> None:
    """Whatever a killed predecessor left on this machine is ended before anything new starts."""
    reaper.expire_dead_workers()
    reaper.expire()
    reaper.sweep(Home(settings.HOME))
    serving.offer()
    for queue in queues_with_work():
        nudge(queue)


@worker_shutting_down.connect
def _stop_the_run(**_kwargs: Any) -> None:
    """A worker that is told to end aborts its run, which is sealed as aborted."""
    stopping.set()


@worker_shutdown.connect
def _leave(**_kwargs: Any) -> None:
    serving.stop()
