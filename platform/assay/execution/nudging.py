"""Tell workers that there is something to do. Lost or doubled nudges do no harm: the poll looks anyway."""

import logging
from typing import Any

from kombu.exceptions import ChannelError, OperationalError

from assay.execution.celery import app, queue

log = logging.getLogger(__name__)

ENOUGH = 2  # nudges waiting in one queue; a queue that nobody serves must not grow for ever
EXPIRES_S = 300.0


def nudge(name: str) -> bool:
    """Send a nudge to the workers of queue ``name``. False if there are enough or the broker is away."""
    try:
        with app.connection_for_write() as connection:
            channel: Any = connection.default_channel
            queue(name)(channel).declare()
            if channel.queue_declare(name).message_count >= ENOUGH:
                return False
        app.send_task("assay.execution.tasks.next_run", queue=name, expires=EXPIRES_S)
    except (OperationalError, ChannelError, OSError) as error:
        log.warning("no nudge to queue %s, the poll will find the run: %s", name, error)
        return False
    return True
