"""The event loop packs what it captured, a slice at a time, while a drive goes (``protocol.packing``)."""

import asyncio
from collections.abc import Callable

_TURN_S = 0.004
_NEXT_SLICE_S = 0.001  # the loop's smallest step: between two slices it serves its sockets


class PackingTurns:
    """One slice at most at a turn; what a turn leaves is packed by the writer thread at its next flush."""

    def __init__(self, pack: Callable[[], bool]) -> None:
        """``pack()`` packs a slice, if there is enough for one, and says whether there is for another."""
        self._pack = pack
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._next = self._loop.call_later(_TURN_S, self._turn)

    def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _turn(self) -> None:
        is_more = self._pack()
        self._next = self._loop.call_later(_NEXT_SLICE_S if is_more else _TURN_S, self._turn)
