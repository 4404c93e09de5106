"""How long one call took, by the clock that fits the device.

On the CPU an op is done when its call returns, so the host's clock around the call is its duration. An
accelerator runs behind the host: a clock around the call would time the submit alone, so events in the
device's own stream take the time, and the submit is timed as what it is, a cost of the host.
"""

from collections.abc import Callable
from typing import Any, Protocol

Timer = Callable[[], int]
Run = Callable[[], object]


class Clock(Protocol):
    """``execution_ns``: the work itself. ``submission_ns``: until the host is free again."""

    def now_ns(self) -> int: ...

    def execution_ns(self, run: Run) -> int: ...

    def submission_ns(self, run: Run) -> int: ...


class HostClock:
    """Both durations are one on the CPU."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer

    def now_ns(self) -> int:
        return self._timer()

    def execution_ns(self, run: Run) -> int:
        start = self._timer()
        run()
        return self._timer() - start

    def submission_ns(self, run: Run) -> int:
        return self.execution_ns(run)


class EventClock:
    """Events before and after the call in the current stream; resolution about half a microsecond.

    ``cuda`` is ``torch.cuda`` (on ROCm the same module). Every reading waits for the device first, so that no
    work of an earlier call lies between the events.
    """

    def __init__(self, cuda: Any, timer: Timer) -> None:
        self._cuda = cuda
        self._timer = timer

    def now_ns(self) -> int:
        return self._timer()

    def execution_ns(self, run: Run) -> int:
        self._cuda.synchronize()
        start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        milliseconds: float = start.elapsed_time(end)
        return round(milliseconds * 1e6)

    def submission_ns(self, run: Run) -> int:
        self._cuda.synchronize()
        start = self._timer()
        run()
        taken = self._timer() - start
        self._cuda.synchronize()  # the queue is empty before anybody else measures
        return taken


def repeat(
    run: Run, *, measure: Callable[[Run], int], clock: Clock, budget_s: float, at_least: int
) -> list[int]:
    """Durations in ns: one warm-up call, then at least ``at_least`` and at most ``MOST`` timed ones."""
    run()
    values: list[int] = []
    end = clock.now_ns() + int(budget_s * 1e9)
    while len(values) < at_least or (clock.now_ns() < end and len(values) < MOST):
        values.append(measure(run))
    return values


FEWEST, MOST = 3, 200  # repetitions of a pattern
