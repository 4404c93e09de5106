"""On how many processors batches of attempts are read; the same batches give the same bytes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from assay.archive.batch_reading import Map, read_batch
from assay.archive.captured_attempts import WireFiles

# Of wire on disk, some 600,000 events. Below it an interpretation takes a few seconds, and to start
# processes and hand over what they read would take one of CPU to save one.
WORTH_WORKERS_BYTES = 4 * 2**20


@contextmanager
def reading_map(wire_bytes: int, *, processors: int | None = None) -> Iterator[Map]:
    """A ``map`` over orders that keeps their order, with worker processes where they pay.

    Enter it before anything large is read: workers are forked from what is held then.
    """
    count = processors or len(os.sched_getaffinity(0))
    if count < 2 or wire_bytes < WORTH_WORKERS_BYTES:
        files = WireFiles()
        yield lambda orders: (read_batch(order, files) for order in orders)
        return
    from assay.archive.workers import in_workers  # a small run starts none

    with in_workers(count) as read:
        yield read
