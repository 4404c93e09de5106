import asyncio
import time
from collections.abc import Callable

import pytest
import uvloop

from runners.load import deadlines
from runners.load.deadlines import Deadlines, KernelTimer, LoopTimer

MS = 1_000_000


def rung(main: Callable[[Deadlines, list[tuple[str, int]]], None], wait_s: float) -> list[str]:
    times: list[tuple[str, int]] = []

    async def run() -> None:
        queue = Deadlines()
        main(queue, times)
        await asyncio.sleep(wait_s)
        queue.close()

    uvloop.run(run())
    return [name for name, _ in times]


@pytest.fixture(params=["kernel", "loop"])
def timer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "loop":
        monkeypatch.setattr(
            deadlines, "deadline_timer", lambda loop, callback: LoopTimer(loop, callback)
        )
    return str(request.param)


def test_calls_come_in_order_of_time_and_never_early(timer: str) -> None:
    late_ns: list[int] = []

    def ask(queue: Deadlines, times: list[tuple[str, int]]) -> None:
        start = time.monotonic_ns()

        def ring(name: str, due_ns: int) -> None:
            late_ns.append(time.monotonic_ns() - due_ns)
            times.append((name, due_ns))

        for name, after in [("c", 30 * MS), ("a", 3 * MS), ("b", 3 * MS), ("past", -MS)]:
            queue.at(start + after, ring, name, start + after)

    assert rung(ask, 0.06) == ["past", "a", "b", "c"]
    assert min(late_ns) >= 0


def test_nothing_is_called_inside_the_asking(timer: str) -> None:
    def ask(queue: Deadlines, times: list[tuple[str, int]]) -> None:
        queue.at(time.monotonic_ns() - MS, times.append, ("due", 0))
        assert times == []

    assert rung(ask, 0.01) == ["due"]


def test_what_is_waiting_at_the_close_is_not_called(timer: str) -> None:
    called: list[int] = []

    async def run() -> None:
        queue = Deadlines()
        queue.at(time.monotonic_ns() + 5 * MS, called.append, 1)
        queue.close()
        await asyncio.sleep(0.02)

    uvloop.run(run())

    assert called == []


def test_a_call_that_fails_does_not_stop_the_others(timer: str) -> None:
    failures: list[str] = []

    def ask(queue: Deadlines, times: list[tuple[str, int]]) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(str(context["exception"])))
        queue.at(time.monotonic_ns() + MS, [].pop)
        queue.at(time.monotonic_ns() + 2 * MS, times.append, ("after", 0))

    assert rung(ask, 0.03) == ["after"]
    assert failures == ["pop from empty list"]


def test_the_kernel_timer_is_closer_than_the_millisecond_of_the_loop() -> None:
    """Some of 40 waits that end between two whole milliseconds; a busy machine spoils the others."""
    late_ns: list[int] = []

    async def run() -> None:
        queue = Deadlines()
        assert isinstance(queue._timer, KernelTimer)
        for number in range(40):
            due = time.monotonic_ns() + 2 * MS + number * 23_000
            done = asyncio.get_running_loop().create_future()
            queue.at(due, done.set_result, None)
            await done
            late_ns.append(time.monotonic_ns() - due)
        queue.close()

    uvloop.run(run())

    assert sorted(late_ns)[4] < MS // 2
