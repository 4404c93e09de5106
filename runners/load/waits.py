"""Which of the client's waits on an attempt runs out next. Values in, values out.

One timer an attempt looks at all of them: its hot path sets stamps only, and a wait that begins later than
the timer was set is always found in time, because no look is further away than the shortest wait.
"""

from collections.abc import Iterator

from runners.load.attempt import Attempt
from runners.load.limits import Timeouts, Wait

_NS = 1e9


class Waits:
    """``shortest_s`` is when to look first, counted from the creation; None: the client never gives up."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._total_ns = _as_ns(timeouts.total_s)
        self._connect_ns = _as_ns(timeouts.connect_s)
        self._first_byte_ns = _as_ns(timeouts.first_byte_s)
        self._between_reads_ns = _as_ns(timeouts.between_reads_s)
        given = (
            timeouts.total_s,
            timeouts.connect_s,
            timeouts.first_byte_s,
            timeouts.between_reads_s,
        )
        self.shortest_s = min((wait for wait in given if wait is not None), default=None)

    def next(self, attempt: Attempt, now_ns: int) -> tuple[int, Wait]:
        """When to look again (CLOCK_MONOTONIC ns), and the wait that has run out if that is not after now.

        Raises ValueError where no wait was given.
        """
        return min(self._ends(attempt, now_ns))

    def _ends(self, attempt: Attempt, now_ns: int) -> Iterator[tuple[int, Wait]]:
        if self._total_ns is not None:
            yield (attempt.created_ns or now_ns) + self._total_ns, Wait.total
        if self._connect_ns is not None and attempt.connected_ns is None:
            yield (attempt.connect_start_ns or now_ns) + self._connect_ns, Wait.connect
        if self._first_byte_ns is not None and attempt.first_byte_ns is None:
            # not sent yet: it cannot run out sooner than if it were sent now
            yield (attempt.sent_ns or now_ns) + self._first_byte_ns, Wait.first_byte
        if self._between_reads_ns is not None:
            began_ns = now_ns if attempt.first_byte_ns is None else attempt.last_read_ns
            yield began_ns + self._between_reads_ns, Wait.between_reads


def _as_ns(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * _NS)
