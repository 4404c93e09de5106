"""Several client processes, one plan: start them, set them off together, join what they say.

Those of this machine and the runner share the host's CLOCK_MONOTONIC, so the origin is one number and their
captured times are of one domain. A load worker's process has a clock of its own: it begins at the same
instant as far as the two clocks are tied. A process that dies ends the run as failed; what it had written is
sealed, a load worker's only if it was brought here.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runners.load.children import Child, ChildProcess, DistantChild
from runners.load.merging import merged
from runners.load.report import DriveReport
from runners.load.shard_process import ShardConfig
from runners.load.watch import ProgressCallback, StopEvent
from runners.protocol.errors import Finding, RunFailed

_HEAD_START_NS = 50_000_000  # from the word to the origin, for the word to reach everybody
_DISTANT_HEAD_START_NS = 3_000_000_000  # the same through the platform, to another machine
_READY_S = 120.0  # to import, read the plan and build every request
_LAST_WORD_S = 30.0  # to write what is captured after being told to stop
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """``streams`` are the reports of every process's segments."""

    report: DriveReport
    streams: list[dict[str, Any]]


async def drive_in_processes(
    configs: Sequence[ShardConfig],
    *,
    elsewhere: Sequence[ShardConfig] = (),
    root: Path,
    scratch: Path,
    segment: str,
    progress: ProgressCallback,
    stop_event: StopEvent,
    on_drain: Callable[[int], None] | None,
    on_start: Callable[[list[int]], Any],
) -> Driven:
    """Drive the load segment in one process for each config; those ``elsewhere`` are of load workers.

    ``on_start`` is awaited with the pids of this machine's. Raises RunFailed when a process ends without its
    report; the others are then stopped, with theirs kept.
    """
    distant = [DistantChild(config, root) for config in elsewhere]  # they take longest to get ready
    local = [await ChildProcess.start(config, scratch) for config in configs]
    children: list[Child] = [*local, *distant]
    readers = [asyncio.create_task(child.listen()) for child in children]
    try:
        await on_start([child.process.pid for child in local])
        await _all_ready(children, readers)
        head_start_ns = _DISTANT_HEAD_START_NS if distant else _HEAD_START_NS
        origin_ns = time.monotonic_ns() + head_start_ns
        for child in children:
            child.say({"go": origin_ns})
        await _until_over(
            children,
            readers,
            segment=segment,
            progress=progress,
            stop_event=stop_event,
            on_drain=on_drain,
        )
    finally:
        await _end(children, readers)
    return _joined(children)


async def _all_ready(children: Sequence[Child], readers: Sequence[asyncio.Task[None]]) -> None:
    async def ready(child: Child, reader: asyncio.Task[None]) -> None:
        waiting = asyncio.create_task(child.told.ready.wait())
        await asyncio.wait({waiting, reader}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not child.told.ready.is_set():
            raise _died(child)

    try:
        async with asyncio.timeout(_READY_S):
            await asyncio.gather(*map(ready, children, readers))
    except TimeoutError as error:
        late = [str(child.config.worker) for child in children if not child.told.ready.is_set()]
        raise RunFailed(
            Finding(
                field="load.processes",
                seen=f"of {len(children)} client processes, {', '.join(late)} not ready within "
                f"{_READY_S:g} s",
                allowed="processes that can start where they are",
                remedy="Lower load.processes, or give the machine room.",
            )
        ) from error


async def _until_over(
    children: Sequence[Child],
    readers: Sequence[asyncio.Task[None]],
    *,
    segment: str,
    progress: ProgressCallback,
    stop_event: StopEvent,
    on_drain: Callable[[int], None] | None,
) -> None:
    """Look at them until each has ended with its report; the first that has none ends the drive."""
    draining = stopping = False
    while not all(reader.done() for reader in readers):
        await asyncio.wait(readers, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        for child, reader in zip(children, readers, strict=True):
            if reader.done() and child.told.report is None:
                raise _died(child)
        begun = [c.told.drain_ns for c in children if c.told.drain_ns is not None]
        if begun and not draining:
            draining = True
            if on_drain is not None:
                on_drain(min(begun))
        if stop_event.is_set() and not stopping:
            stopping = True
            for child in children:
                child.say({"stop": True})
        done, total = sum(c.told.done for c in children), sum(c.told.total for c in children)
        progress(done, total, f"{segment}: {done} done in {len(children)} processes")
        await asyncio.sleep(_LOOK_S)


def _died(child: Child) -> RunFailed:
    return RunFailed(
        Finding(
            field="load.processes",
            seen=child.how_it_ended(),
            allowed="client processes that stay up until they have reported",
            remedy="What this machine captured before is in the bundle. Run it again.",
        )
    )


async def _end(children: Sequence[Child], readers: Sequence[asyncio.Task[None]]) -> None:
    """Hang up: each stops, writes what it captured and goes; then whoever is left is killed."""
    for child in children:
        child.hang_up()
    _, left = await asyncio.wait(readers, timeout=_LAST_WORD_S)
    for child in children:
        child.kill()
    if left:
        await asyncio.wait(left)


def _joined(children: Sequence[Child]) -> Driven:
    """What else is known of each process stands with its own error."""
    told = {child.config.worker: child.told for child in children}
    reports = {worker: t.report for worker, t in told.items() if t.report is not None}
    report = merged(list(reports.values()), workers=list(reports))
    own = tuple({**error, **told[error["worker"]].beside} for error in report.workers)
    return Driven(
        report=replace(report, workers=own),
        streams=[stream for t in told.values() for stream in t.streams],
    )
