"""Call back at absolute CLOCK_MONOTONIC times, closer than the event loop's own timers can.

uvloop's timers count whole milliseconds, so that a request would leave up to 1 ms late or early. A kernel
timerfd armed with an absolute time rings within tens of microseconds and burns nothing while it waits.
"""

import asyncio
import ctypes
import heapq
import os
import time
from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

_CLOCK_MONOTONIC = 1
_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_NS = 1_000_000_000


class DeadlineTimer(Protocol):
    """One deadline at a time: a later ``arm`` replaces the earlier one."""

    def arm(self, at_ns: int) -> None:
        """Call back as soon as CLOCK_MONOTONIC has reached ``at_ns``; at once if it has already."""

    def close(self) -> None: ...


class Deadlines:
    """Calls to make at given times, on the running loop, in order of time and then of asking."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = count()
        self._timer = deadline_timer(asyncio.get_running_loop(), self._ring)

    def at(self, at_ns: int, call: Callable[..., None], *arguments: Any) -> None:
        """Call as soon as CLOCK_MONOTONIC has reached ``at_ns``; never inside this call, never early."""
        heapq.heappush(self._heap, (at_ns, next(self._order), call, arguments))
        if self._heap[0][0] == at_ns:
            self._timer.arm(at_ns)

    def close(self) -> None:
        """Forget every call that has not been made."""
        self._heap.clear()
        self._timer.close()

    def _ring(self) -> None:
        heap = self._heap
        try:
            while heap and heap[0][0] <= time.monotonic_ns():
                _, _, call, arguments = heapq.heappop(heap)
                call(*arguments)
        finally:
            if heap:
                self._timer.arm(heap[0][0])


def deadline_timer(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> DeadlineTimer:
    """A timer on ``loop``: a timerfd where the system has one, else the loop's own timer."""
    try:
        return KernelTimer(loop, callback)
    except (OSError, AttributeError):
        return LoopTimer(loop, callback)


class _Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


class _Itimerspec(ctypes.Structure):
    _fields_ = [("interval", _Timespec), ("value", _Timespec)]


class KernelTimer:
    """A timerfd read by the event loop. Raises OSError or AttributeError where there is none."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._settime = libc.timerfd_settime
        self._fd: int = libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._spec = _Itimerspec()
        self._loop = loop
        self._callback = callback
        loop.add_reader(self._fd, self._ring)

    def arm(self, at_ns: int) -> None:
        # An all-zero time would disarm; any time in the past rings at once.
        value = self._spec.value
        value.s, value.ns = divmod(max(at_ns, 1), _NS)
        if self._settime(self._fd, _ABSOLUTE, ctypes.byref(self._spec), None):
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _ring(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # armed again between the wake-up and here
            return
        self._callback()


class LoopTimer:
    """The loop's timer, at most its step late and never early."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.Handle | None = None

    def arm(self, at_ns: int) -> None:
        self.close()
        left_s = (at_ns - time.monotonic_ns()) / _NS
        self._handle = self._loop.call_later(max(left_s, 0), self._ring, at_ns)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _ring(self, at_ns: int) -> None:
        if time.monotonic_ns() < at_ns:
            self._handle = self._loop.call_soon(self._ring, at_ns)
            return
        self._handle = None
        self._callback()
