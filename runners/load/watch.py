"""Watch a drive from inside its event loop: how late the loop is, whether to stop, what to show."""

import time
from collections.abc import Callable
from typing import Protocol

from runners.load.deadlines import Deadlines
from runners.load.lags import LagSeries
from runners.load.limits import StopReason
from runners.load.recorder import Recorder

_now = time.monotonic_ns

TICK_NS = 50_000_000
_TICKS_PER_PROGRESS = 4  # at most five reports a second

ProgressCallback = Callable[[int, int, str], None]


class StopEvent(Protocol):
    """``asyncio.Event`` or ``threading.Event``; looked at twenty times a second."""

    def is_set(self) -> bool: ...


class Watch:
    """Ticks at absolute times; a tick that comes late is a sample of the loop's lag."""

    def __init__(
        self,
        deadlines: Deadlines,
        recorder: Recorder,
        *,
        stop_event: StopEvent | None,
        stop: Callable[[StopReason], None],
        show: Callable[[], None],
        look: Callable[[int], None],
    ) -> None:
        """``look(now_ns)`` is called at every tick, ``show`` at every fourth."""
        self._deadlines = deadlines
        self._recorder = recorder
        self._stop_event = stop_event
        self._stop = stop
        self._show = show
        self._look = look
        self._ticks = 0
        self.loop_lag = LagSeries("how late a timer of the client's event loop rang")

    def start(self) -> None:
        due_ns = _now() + TICK_NS
        self._deadlines.at(due_ns, self._tick, due_ns)
        self.stop_if_asked()

    def stop_if_asked(self) -> None:
        if self._stop_event is not None and self._stop_event.is_set():
            self._stop(StopReason.stop_requested)
        elif self._recorder.has_ended:
            self._stop(StopReason.capture_ended)

    def _tick(self, due_ns: int) -> None:
        now_ns = _now()
        self.loop_lag.add(now_ns - due_ns)
        next_ns = max(due_ns + TICK_NS, now_ns)
        self._deadlines.at(next_ns, self._tick, next_ns)
        self._ticks += 1
        self.stop_if_asked()
        self._look(now_ns)
        if self._ticks % _TICKS_PER_PROGRESS == 0:
            self._show()
