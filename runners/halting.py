"""Whatever may end a run early, in one place: interrupt, worker gone, engine gone, disk full.

The first cause wins and is raised out of ``until``; ``stop`` is set at once, for the drive to see.
"""

import asyncio
import signal
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from runners.evidence.launch import EngineProcess
from runners.evidence.processes import ProcessId, alive, identify
from runners.protocol.errors import Finding, RunFailed
from runners.protocol.workspace import Workspace

T = TypeVar("T")

_LOW_DISK_BYTES = 256 * 2**10
_WATCH_S = 0.25
_WIND_DOWN_S = 3.0  # for a drive to close its attempts after ``stop``


class Interrupted(Exception):
    """Somebody asked the run to end."""


class WorkerGone(Exception):
    """A process that this run was to end with is gone."""


class Halts:
    """Watches from the start of the run until ``close``; signals are only noted after the first."""

    def __init__(self, workspace: Workspace, watched: Sequence[int]) -> None:
        self._workspace = workspace
        self._watched: list[tuple[int, ProcessId | None]] = [(p, identify(p)) for p in watched]
        self._loop = asyncio.get_running_loop()
        self._cause: asyncio.Future[None] = self._loop.create_future()
        self._tasks = {self._loop.create_task(self._watch())}
        self.stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        self.halt(Interrupted(f"interrupted by {number.name}"))

    def halt(self, cause: Exception) -> None:
        self.stop.set()
        if not self._cause.done():
            self._cause.set_exception(cause)

    def watch_engine(self, engine: EngineProcess) -> None:
        """From now on, an engine that ends by itself ends the run."""
        self._tasks.add(self._loop.create_task(self._await_end(engine)))

    async def until(self, work: Coroutine[None, None, T]) -> T:
        """The result of ``work``, unless something ends the run first: then that is raised, at once."""
        return await self._until(work, patience_s=0)

    async def until_wound_down(self, work: Coroutine[None, None, T]) -> T:
        """As ``until``, but ``work`` looks at ``stop`` and gets a moment to end by itself."""
        return await self._until(work, patience_s=_WIND_DOWN_S)

    async def _until(self, work: Coroutine[None, None, T], *, patience_s: float) -> T:
        task = self._loop.create_task(work)
        both: list[asyncio.Future[Any]] = [task, self._cause]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if self._cause.done() and patience_s:
            await asyncio.wait([task], timeout=patience_s)
        if not self._cause.done():
            return task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        cause = self._cause.exception()
        assert cause is not None
        raise cause

    async def close(self) -> None:
        """Stop watching. From here on interrupts are ignored: what follows is the sealing."""
        signals = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        for number in signals:
            self._loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._cause.done():
            self._cause.exception()  # seen, so that the loop does not complain
        else:
            self._cause.cancel()

    async def _await_end(self, engine: EngineProcess) -> None:
        await engine.exited.wait()
        words = " | ".join(engine.last_words(6)) or "nothing"
        self.halt(
            RunFailed(
                Finding(
                    field="engine",
                    seen=f"ended in mid-run ({engine.how_it_ended()}); last lines: {words}",
                    allowed="an engine that stays up until it is stopped",
                    remedy="Read engine.log in the bundle.",
                )
            )
        )

    async def _watch(self) -> None:
        while True:
            for pid, known in self._watched:
                if known is None or not alive(known):
                    self.halt(WorkerGone(f"the process {pid} that started this run is gone"))
            if self._workspace.free_bytes() < _LOW_DISK_BYTES:
                self.halt(disk_full("less than 256 KiB are left"))
            await asyncio.sleep(_WATCH_S)


def disk_full(seen: str) -> RunFailed:
    return RunFailed(
        Finding(
            field="disk",
            seen=f"the disk filled up in mid-run: {seen}",
            allowed="room for everything the declaration captures",
            remedy="Free space below ASSAY_HOME, or lower evidence.stream_limit_bytes.",
        )
    )
