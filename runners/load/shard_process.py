"""One of several client processes: drives its part of the plan when its parent says so.

Lines of JSON on standard input: ``{"go": ns}`` sets the common origin on the monotonic clock that all
processes of a host share; the end of the input, or ``{"stop": true}``, ends the drive. Lines on standard
output: ready, progress, drain, and the report with which it ends. Captured rows go to segments of its own.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import uvloop

from runners.load.driver import drive, open_client
from runners.load.recorder import Recorder
from runners.load.report import DriveReport
from runners.load.sharding import shards, share_of_load
from runners.protocol import layout
from runners.protocol.events import Segment
from runners.protocol.packing import Transform
from runners.protocol.segment_writer import SegmentWriter
from runners.protocol.workspace import Workspace

_now = time.monotonic_ns
_SPIN_NS = 2_000_000  # the loop's timers count whole milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardConfig:
    """``number`` of ``processes``, from 0; ``worker`` is its mark in attempts and segments."""

    root: str
    number: int
    processes: int
    base_url: str
    addresses: list[str]
    asking: dict[str, Any]  # as ``drive`` takes it: model, authorization_env, return_token_ids

    @property
    def worker(self) -> int:
        return self.number + 1  # worker 0 is the runner, which warms up


def run(config: ShardConfig, *, redact_wire: Transform | None) -> int:
    uvloop.run(_Shard(config, redact_wire).live())
    return 0


class _Cpu:
    """What this process used of the cores since it was made, and all processes of its host."""

    def __init__(self) -> None:
        self._wall_s, self._own_s, self._host_s = time.monotonic(), time.process_time(), _busy_s()

    def used(self) -> dict[str, Any]:
        wall_s = time.monotonic() - self._wall_s
        return {
            "wall_s": wall_s,
            "own_cores_mean": (time.process_time() - self._own_s) / wall_s,
            "host_cores_mean": (_busy_s() - self._host_s) / wall_s,
            "cores": os.cpu_count(),
        }


def _busy_s() -> float:
    """Of all cores since boot; guests are in user time already."""
    times = psutil.cpu_times()
    return float(sum((times.user, times.nice, times.system, times.irq, times.softirq, times.steal)))


class _Shard:
    def __init__(self, config: ShardConfig, redact_wire: Transform | None) -> None:
        self._config = config
        self._workspace = Workspace(Path(config.root))
        spec = self._workspace.spec()
        self._load: Mapping[str, Any] = spec["load"]
        self._writer = SegmentWriter(
            self._workspace.segments,
            worker=config.worker,
            limit_bytes=spec["evidence"]["stream_limit_bytes"] // config.processes,
        )
        self._recorder = Recorder(self._writer, redact_wire=redact_wire)
        self._stop = asyncio.Event()
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._cpu = _Cpu()

    async def live(self) -> None:
        listening = asyncio.create_task(self._listen())
        self._writer.start()
        try:
            report, cpu = await self._drive()
        finally:
            streams = [asdict(stream) for stream in self._writer.close()]
            listening.cancel()
        say(report=asdict(report), streams=streams, cpu=cpu)

    async def _drive(self) -> tuple[DriveReport, dict[str, Any]]:
        bundle = self._workspace.bundle
        plan = pq.read_table(bundle / layout.PLAN).to_pylist()
        load_rows = [row for row in plan if row["segment"] == Segment.load]
        number, processes = self._config.number, self._config.processes
        rows = shards(load_rows, self._load, processes)[number]
        prompts = {
            row["prompt_ref"]: row for row in pq.read_table(bundle / layout.PROMPTS).to_pylist()
        }
        load = share_of_load(self._load, rows, number=number, processes=processes)
        client = open_client(
            self._config.base_url, load, self._recorder, addresses=self._config.addresses
        )
        await client.open()
        try:
            report = await drive(
                rows,
                prompts,
                base_url=self._config.base_url,
                load=load,
                recorder=self._recorder,
                client=client,
                worker=self._config.worker,
                stop_event=self._stop,
                progress=lambda done, total, _: say(done=done, total=total),
                on_drain=lambda t_ns: say(drain=t_ns),
                begin=self._at_the_barrier,
                **self._config.asking,
            )
            return report, self._cpu.used()
        finally:
            await client.close()

    async def _at_the_barrier(self) -> int:
        """Everything is built: say so, and wait for the common origin."""
        say(ready=True)
        while True:
            told = await self._told.get()
            if "go" in told or self._stop.is_set():
                break
        origin_ns = int(told.get("go") or _now())
        await asyncio.sleep(max(origin_ns - _now() - _SPIN_NS, 0) / 1e9)
        self._cpu = _Cpu()  # of the load, not of the waiting for it
        while _now() < origin_ns:
            pass
        return origin_ns

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            told = json.loads(line)
            if told.get("stop"):
                break
            self._told.put_nowait(told)
        self._stop.set()
        self._told.put_nowait({})


def say(**line: Any) -> None:
    """One line for the parent. When nobody reads any more, the end of our input stops us."""
    try:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = None
