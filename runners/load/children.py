"""The client processes of a load that several send, as the run sees them: here, or a load worker's.

What each says comes as lines: ready, progress, drain, and the report with which it ends.
"""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from runners.load.limits import StopReason
from runners.load.other_clock import on_our_clock
from runners.load.pace import StageSpan
from runners.load.report import DriveReport
from runners.load.shard_process import ShardConfig
from runners.protocol import distant
from runners.protocol.distant import DistantClock, LineReader

_ROOT = Path(__file__).resolve().parents[2]
_LINE_BYTES = 2**26
_LOOK_S = 0.02


@dataclass(slots=True, kw_only=True)
class Told:
    """What a client process has said so far. ``beside`` is what stands with its own error in the record."""

    ready: asyncio.Event = field(default_factory=asyncio.Event)
    done: int = 0
    total: int = 0
    drain_ns: int | None = None
    report: DriveReport | None = None
    streams: list[dict[str, Any]] = field(default_factory=list)
    beside: dict[str, Any] = field(default_factory=dict)

    def take(self, line: Mapping[str, Any]) -> None:
        if "ready" in line:
            self.ready.set()
        elif "done" in line:
            self.done, self.total = line["done"], line["total"]
        elif "drain" in line:
            self.drain_ns = line["drain"]
        elif "report" in line:
            self.report, self.streams = _report(line["report"]), line["streams"]
            self.beside["cpu"] = line["cpu"]


class Child(Protocol):
    """``listen`` returns when nothing more will be said; ``kill`` makes it return soon."""

    config: ShardConfig
    told: Told

    async def listen(self) -> None: ...

    def say(self, line: Mapping[str, Any]) -> None: ...

    def hang_up(self) -> None: ...

    def kill(self) -> None: ...

    def how_it_ended(self) -> str: ...


class ChildProcess:
    """A process of this machine. The end of its input stops it."""

    def __init__(self, config: ShardConfig, process: asyncio.subprocess.Process) -> None:
        self.config = config
        self.told = Told()
        self.process = process

    @classmethod
    async def start(cls, config: ShardConfig, scratch: Path) -> "ChildProcess":
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
        return cls(config, process)

    async def listen(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.told.take(json.loads(line))
        await self.process.wait()

    def say(self, line: Mapping[str, Any]) -> None:
        pipe = self.process.stdin
        if pipe is None or pipe.is_closing():
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
            pipe.write(json.dumps(line).encode() + b"\n")

    def hang_up(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.process.returncode is None:
                self.process.kill()

    def how_it_ended(self) -> str:
        code = self.process.returncode
        how = "ended" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        return f"client process {self.config.worker} (pid {self.process.pid}) {how} in mid-load"


class DistantChild:
    """A process of a load worker's machine. Its times are of another clock and are carried over here.

    When it began to drain is taken from our clock, at the moment when we hear of it.
    """

    def __init__(self, config: ShardConfig, root: Path) -> None:
        self.config = config
        self.told = Told()
        self._told_file = distant.told_file(root, config.worker)
        self._said = LineReader(distant.said_file(root, config.worker))
        self._clock: DistantClock | None = None
        self._gone: str | None = None
        self._is_over = False
        drive = {name: value for name, value in asdict(config).items() if name != "root"}
        self.say({"drive": drive})

    async def listen(self) -> None:
        while not self._is_over:
            for line in self._said.new_lines():
                self._take(line)
            await asyncio.sleep(_LOOK_S)

    def say(self, line: Mapping[str, Any]) -> None:
        distant.write_line(self._told_file, **line)

    def hang_up(self) -> None:
        if not self._is_over:
            self.say({"stop": True})

    def kill(self) -> None:
        self._gone = self._gone or "gave no last word"
        self._is_over = True

    def how_it_ended(self) -> str:
        return f"load worker of client process {self.config.worker}: {self._gone or 'ended'}"

    def _take(self, line: Mapping[str, Any]) -> None:
        if "clock" in line:
            self._clock = line["clock"]
        elif "gone" in line:
            self._gone, self._is_over = line["gone"], True
        elif "drain" in line:
            self.told.drain_ns = time.monotonic_ns()
        else:
            self.told.take(line)
        if (report := self.told.report) is not None and self._clock is not None:
            self.told.report = on_our_clock(report, self._clock)
            self.told.beside["clock_domain"] = self._clock["domain"]
            self.told.beside["host"] = self._clock["host"]
            self._is_over = True


def _report(told: Mapping[str, Any]) -> DriveReport:
    return DriveReport(
        **{
            **told,
            "stop_reason": StopReason(told["stop_reason"]),
            "stages": tuple(StageSpan(**span) for span in told["stages"]),
            "client_limits": tuple(told["client_limits"]),
            "workers": (),
        }
    )
