"""Several client processes, one plan: start them, set them off together, join what they say.

All of them and the runner share the host's CLOCK_MONOTONIC, so the origin is one number and their captured
times are of one domain. A process that dies ends the run as failed; what it had written is sealed.
"""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runners.load.limits import StopReason
from runners.load.merging import merged
from runners.load.pace import StageSpan
from runners.load.report import DriveReport
from runners.load.shard_process import ShardConfig
from runners.load.watch import ProgressCallback, StopEvent
from runners.protocol.errors import Finding, RunFailed

_ROOT = Path(__file__).resolve().parents[2]
_HEAD_START_NS = 50_000_000  # from the word to the origin, for the word to reach everybody
_READY_S = 120.0  # to import, read the plan and build every request
_LAST_WORD_S = 30.0  # to write what is captured after being told to stop
_LOOK_S = 0.05
_LINE_BYTES = 2**26


@dataclass(slots=True, kw_only=True)
class _Child:
    config: ShardConfig
    process: asyncio.subprocess.Process
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    done: int = 0
    total: int = 0
    drain_ns: int | None = None
    report: DriveReport | None = None
    streams: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """``streams`` are the reports of every process's segments."""

    report: DriveReport
    streams: list[dict[str, Any]]


async def drive_in_processes(
    configs: Sequence[ShardConfig],
    *,
    scratch: Path,
    segment: str,
    progress: ProgressCallback,
    stop_event: StopEvent,
    on_drain: Callable[[int], None] | None,
    on_start: Callable[[list[int]], Any],
) -> Driven:
    """Drive the load segment in one process for each config. ``on_start`` is awaited with their pids.

    Raises RunFailed when a process ends without its report; the others are then stopped, with theirs kept.
    """
    children = [await _start(config, scratch) for config in configs]
    readers = [asyncio.create_task(_listen(child)) for child in children]
    try:
        await on_start([child.process.pid for child in children])
        await _all_ready(children, readers)
        origin_ns = time.monotonic_ns() + _HEAD_START_NS
        for child in children:
            _say(child, {"go": origin_ns})
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


async def _start(config: ShardConfig, scratch: Path) -> _Child:
    path = scratch / f"shard-{config.worker}.json"
    path.write_text(json.dumps(asdict(config)), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "runners", "drive-shard", str(path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=_ROOT,
        limit=_LINE_BYTES,
        start_new_session=True,  # an interrupt from the terminal is for the runner alone
    )
    return _Child(config=config, process=process)


async def _listen(child: _Child) -> None:
    assert child.process.stdout is not None
    while line := await child.process.stdout.readline():
        told = json.loads(line)
        if "ready" in told:
            child.ready.set()
        elif "done" in told:
            child.done, child.total = told["done"], told["total"]
        elif "drain" in told:
            child.drain_ns = told["drain"]
        elif "report" in told:
            child.report, child.streams = _report(told["report"]), told["streams"]
    await child.process.wait()


def _report(told: dict[str, Any]) -> DriveReport:
    return DriveReport(
        **{
            **told,
            "stop_reason": StopReason(told["stop_reason"]),
            "stages": tuple(StageSpan(**span) for span in told["stages"]),
            "client_limits": tuple(told["client_limits"]),
            "workers": (),
        }
    )


async def _all_ready(children: Sequence[_Child], readers: Sequence[asyncio.Task[None]]) -> None:
    async def ready(child: _Child, reader: asyncio.Task[None]) -> None:
        waiting = asyncio.create_task(child.ready.wait())
        await asyncio.wait({waiting, reader}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not child.ready.is_set():
            raise _died(child)

    try:
        async with asyncio.timeout(_READY_S):
            await asyncio.gather(*map(ready, children, readers))
    except TimeoutError as error:
        raise RunFailed(
            Finding(
                field="load.processes",
                seen=f"not all of {len(children)} processes were ready within {_READY_S:g} s",
                allowed="processes that can start here",
                remedy="Lower load.processes, or give the machine room.",
            )
        ) from error


async def _until_over(
    children: Sequence[_Child],
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
            if reader.done() and child.report is None:
                raise _died(child)
        begun = [c.drain_ns for c in children if c.drain_ns is not None]
        if begun and not draining:
            draining = True
            if on_drain is not None:
                on_drain(min(begun))
        if stop_event.is_set() and not stopping:
            stopping = True
            for child in children:
                _say(child, {"stop": True})
        done, total = sum(c.done for c in children), sum(c.total for c in children)
        progress(done, total, f"{segment}: {done} done in {len(children)} processes")
        await asyncio.sleep(_LOOK_S)


def _died(child: _Child) -> RunFailed:
    code = child.process.returncode
    how = "ended" if code is None else f"ended with exit code {code}"
    if code is not None and code < 0:
        how = f"was killed by {signal.Signals(-code).name}"
    return RunFailed(
        Finding(
            field="load.processes",
            seen=f"client process {child.config.worker} (pid {child.process.pid}) {how} in mid-load",
            allowed="client processes that stay up until they have reported",
            remedy="What it captured before is in the bundle. Run it again.",
        )
    )


async def _end(children: Sequence[_Child], readers: Sequence[asyncio.Task[None]]) -> None:
    """Hang up: each stops, writes what it captured and goes; then whoever is left is killed."""
    for child in children:
        if child.process.stdin is not None:
            child.process.stdin.close()
    _, left = await asyncio.wait(readers, timeout=_LAST_WORD_S)
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            if child.process.returncode is None:
                child.process.kill()
    if left:
        await asyncio.wait(left)


def _say(child: _Child, line: dict[str, Any]) -> None:
    pipe = child.process.stdin
    if pipe is None or pipe.is_closing():
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
        pipe.write(json.dumps(line).encode() + b"\n")


def _joined(children: Sequence[_Child]) -> Driven:
    reports = [child.report for child in children if child.report is not None]
    return Driven(
        report=merged(reports, workers=[child.config.worker for child in children]),
        streams=[stream for child in children for stream in child.streams],
    )
