"""The clocks of the micro-benchmark, with a made timer and a made device."""

from collections.abc import Callable
from typing import Any

import pytest

from runners.evidence.benchmark_clock import EventClock, HostClock, repeat


def ticking(step_ns: int) -> Callable[[], int]:
    """A clock that moves by ``step_ns`` at every look."""
    now = iter(range(0, 10**12, step_ns))
    return lambda: next(now)


class FakeCuda:
    """A device with a stream of its own: submitting takes 10 µs of the host, each op 300 µs of the device."""

    SUBMIT_NS, RUN_NS = 10_000, 300_000

    def __init__(self) -> None:
        self.host_ns = 0
        self.device_ns = 0

    def op(self) -> None:
        self.host_ns += self.SUBMIT_NS
        self.device_ns = max(self.device_ns, self.host_ns) + self.RUN_NS

    def synchronize(self) -> None:
        self.host_ns = max(self.host_ns, self.device_ns)

    def Event(self, *, enable_timing: bool) -> Any:  # noqa: N802 - torch's name
        assert enable_timing
        return FakeEvent(self)

    def now_ns(self) -> int:
        return self.host_ns


class FakeEvent:
    def __init__(self, cuda: FakeCuda) -> None:
        self._cuda = cuda
        self.at_ns = 0

    def record(self) -> None:
        self.at_ns = max(self._cuda.device_ns, self._cuda.host_ns)

    def synchronize(self) -> None:
        self._cuda.synchronize()

    def elapsed_time(self, end: "FakeEvent") -> float:
        return (end.at_ns - self.at_ns) / 1e6


@pytest.mark.req("14.06")
def test_the_first_call_is_a_warm_up_and_three_are_timed_at_least() -> None:
    calls: list[int] = []
    clock = HostClock(ticking(1000))

    values = repeat(
        lambda: calls.append(1), measure=clock.execution_ns, clock=clock, budget_s=0.0, at_least=3
    )

    assert len(calls) == 4
    assert values == [1000, 1000, 1000]


def test_repetitions_end_with_the_budget() -> None:
    # three looks at the clock per repetition of 1 ms each: a budget of 30 ms holds ten of them
    clock = HostClock(ticking(10**6))

    values = repeat(
        lambda: None, measure=clock.execution_ns, clock=clock, budget_s=0.030, at_least=3
    )

    assert 8 <= len(values) <= 11


@pytest.mark.req("14.06")
def test_an_accelerators_work_is_timed_by_its_events_and_the_submit_apart() -> None:
    cuda = FakeCuda()
    clock = EventClock(cuda, cuda.now_ns)

    def three() -> None:
        for _ in range(3):
            cuda.op()

    # the first op starts when it is submitted, 10 µs in; then three of 300 µs: 910 µs between the events
    assert clock.execution_ns(three) == 910_000
    # the host is free after three submits
    assert clock.submission_ns(three) == 30_000


def test_work_of_an_earlier_call_is_not_counted() -> None:
    cuda = FakeCuda()
    clock = EventClock(cuda, cuda.now_ns)
    for _ in range(100):
        cuda.op()

    assert clock.execution_ns(cuda.op) == 310_000
    assert clock.submission_ns(cuda.op) == 10_000
