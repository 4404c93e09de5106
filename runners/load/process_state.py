"""Keep this process from disturbing what it measures: garbage collection and the cores it may use."""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from runners.protocol.errors import EnvironmentLacks, Finding


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Collect once, set aside what is alive, and collect no more until the end of the block.

    A collection in mid-burst stops the event loop for milliseconds. The client makes no reference cycles
    while it runs, so that nothing piles up meanwhile.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def pin_to_cores(cores: Sequence[int]) -> list[int]:
    """Bind this process to ``cores`` (all threads started from here on too); returns the cores in force.

    Empty means not pinned: nothing is changed, and the cores allowed so far are returned.
    """
    allowed = os.sched_getaffinity(0)
    if missing := sorted(set(cores) - allowed):
        raise EnvironmentLacks(
            Finding(
                field="device.placement.client_cores",
                seen=", ".join(map(str, missing)),
                allowed=", ".join(map(str, sorted(allowed))),
                remedy="Name cores that this process may use.",
            )
        )
    if cores:
        os.sched_setaffinity(0, set(cores))
    return sorted(os.sched_getaffinity(0))
