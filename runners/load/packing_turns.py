"""The event loop packs what it captured, a slice at a time, while a drive goes (``protocol.packing``).

A loop that is behind with its sockets packs nothing: a turn that comes late is put off, for a while.
"""

import asyncio
import time
from collections.abc import Callable

_TURN_S = 0.012
_NEXT_SLICE_S = 0.001  # the loop's smallest step: between two slices it serves its sockets
_LATE_S = 0.003  # the timers' own step and rounding are below it
_MOST_PUT_OFF = (
    20  # turns: about a quarter of a second, then the writer's next flush would find too much
)


class PackingTurns:
    """One slice at most at a turn; what a turn leaves is packed by the writer thread at its next flush."""

    def __init__(self, pack: Callable[[], bool]) -> None:
        """``pack()`` packs a slice, if there is enough for one, and says whether there is for another."""
        self._pack = pack
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.TimerHandle | None = None
        self._due_s = 0.0
        self._put_off = 0

    def start(self) -> None:
        self._in(_TURN_S)

    def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _turn(self) -> None:
        if time.monotonic() - self._due_s > _LATE_S and self._put_off < _MOST_PUT_OFF:
            self._put_off += 1
            self._in(_TURN_S)
            return
        self._put_off = 0
        self._in(_NEXT_SLICE_S if self._pack() else _TURN_S)

    def _in(self, seconds: float) -> None:
        self._due_s = time.monotonic() + seconds
        self._next = self._loop.call_later(seconds, self._turn)
