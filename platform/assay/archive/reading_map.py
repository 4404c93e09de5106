"""On how many processors batches of attempts are read; the same batches give the same bytes."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.archive.batch_reading import Map, read_batch
from assay.archive.captured_attempts import WireFiles

# Of wire on disk, some 600,000 events. Below it an interpretation takes a few seconds, and to start
# processes and hand over what they read would take one of CPU to save one.
WORTH_WORKERS_BYTES = 4 * 2**20


def is_short(wire: Iterable[Path]) -> bool:
    """Whether one processor reads the run of these wire files."""
    return sum(path.stat().st_size for path in wire) < WORTH_WORKERS_BYTES


@contextmanager
def reading_map(wire: Iterable[Path], *, processors: int | None = None) -> Iterator[Map]:
    """A ``map`` over orders that keeps their order, with worker processes where they pay.

    Enter it before anything large is read: workers are forked from what is held then.
    """
    count = processors or len(os.sched_getaffinity(0))
    if count < 2 or is_short(wire):
        files = WireFiles()
        yield lambda orders: (read_batch(order, files) for order in orders)
        return
    from assay.archive.workers import in_workers  # a small run starts none

    with in_workers(count) as read:
        yield read
