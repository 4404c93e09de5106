"""The Celery application. A message is only a nudge: the database says what there is to do.

Acknowledged early, prefetch one, no result backend, no remote control: cancel and all control go through the
database. A worker is one process with two threads, one for the run at hand and one for polling and reaping,
so that killing the process ends everything it did.
"""

import os

from celery import Celery
from django.conf import settings
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "assay.settings")

CONTROL_QUEUE = "control"  # poll and reap; runs are nudged on the queue of their device kind
TICK_S = 60.0  # a cron slot is a minute
MESSAGE_LIFE_S = 60.0  # older nudges are worth nothing: the poll has looked since

app = Celery("assay")


def queue(name: str) -> Queue:
    """A queue behind an exchange of its own: without one, all queues would share the default exchange."""
    return Queue(name, exchange=Exchange(name), routing_key=name)


def _configure() -> None:
    from assay.archive.paths import Home
    from assay.execution import broker

    url, options = settings.REDIS_URL or "", dict[str, str]()
    if not url:
        url, options = broker.install(Home(settings.HOME).broker)
    app.conf.update(
        task_queues=[queue(name) for name in (CONTROL_QUEUE, *settings.QUEUES)],
        broker_url=url,
        broker_transport_options=options,
        broker_connection_retry_on_startup=True,
        task_acks_late=False,
        worker_prefetch_multiplier=1,
        task_ignore_result=True,
        result_backend=None,
        task_default_queue=CONTROL_QUEUE,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_pool="threads",
        worker_concurrency=2,
        worker_hijack_root_logger=False,
        beat_scheduler=settings.CELERY_BEAT_SCHEDULER,
        beat_sync_every=10,  # else it notes nothing for three minutes, and looks unwell
        beat_schedule={
            "poll": {
                "task": "assay.execution.tasks.poll",
                "schedule": settings.POLL_S,
                "options": {"expires": MESSAGE_LIFE_S},
            },
            "schedules": {
                "task": "assay.execution.tasks.tick_schedules",
                "schedule": TICK_S,
                "options": {"expires": MESSAGE_LIFE_S},
            },
            "deliver": {
                "task": "assay.execution.tasks.deliver",
                "schedule": max(settings.POLL_S, 5.0),
                "options": {"expires": MESSAGE_LIFE_S},
            },
            "reap": {
                "task": "assay.execution.tasks.reap",
                "schedule": max(1.0, settings.LEASE_S / 3),
                "options": {"expires": MESSAGE_LIFE_S},
            },
        },
        timezone="UTC",
        imports=["assay.execution.tasks"],
    )


_configure()
