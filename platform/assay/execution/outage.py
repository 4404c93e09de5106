"""Writes that must not be lost because the database is away for a while: they wait until it is back.

What a run gave lies sealed in its folder meanwhile. A lease is no danger to it: nobody can take it away from
a worker while there is no database, and the first look after an outage gives every lease its time anew.
"""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

log = logging.getLogger(__name__)

PATIENCE_S = 600.0
PAUSE_S = 1.0
Answer = TypeVar("Answer")


def wait_out(write: Callable[[], Answer]) -> Answer:
    """Try again until the database takes it. Raises its last error after ``PATIENCE_S``.

    ``write`` has to be safe to repeat: a commit may have come through though its answer did not.
    """
    give_up_at = time.monotonic() + PATIENCE_S
    while True:
        try:
            return write()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block or time.monotonic() > give_up_at:
                raise
            log.warning("the database is away, trying again: %s", error)
            connection.close()
            time.sleep(PAUSE_S)
