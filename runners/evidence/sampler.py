"""The sampler: a process beside the runner that scrapes, reads the host and ties the clocks, at fixed rates.

A process of its own, because a busy thread would hold up the client's loop by up to the interpreter's
switch interval. ``python -m runners.evidence.sampler CONFIG``; commands come as JSON lines on standard
input, whose end stops it. Its own cost is in the telemetry as subject ``sampler``.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runners.evidence import amd_smi, cgroup, processes, secrets, telemetry
from runners.protocol import clocks, layout, tables
from runners.protocol.segment_writer import SegmentWriter

ANCHORS = "anchors.jsonl"
REDACTIONS = "redactions.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerConfig:
    """Rates in seconds, the folder of the segments, and whose cost is the client's."""

    segments: str
    limit_bytes: int
    scrape_interval_s: float
    telemetry_interval_s: float
    anchor_interval_s: float
    client_pid: int
    secret_names: list[str]

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


class Sampler:
    def __init__(self, config: SamplerConfig) -> None:
        self._config = config
        self._folder = Path(config.segments)
        self._writer = SegmentWriter(self._folder, limit_bytes=config.limit_bytes, interval_s=0.5)
        self._telemetry = self._writer.open("telemetry", tables.TELEMETRY)
        self._scrapes = self._writer.open("scrapes", tables.SCRAPES)
        self._redactor = secrets.from_environment(config.secret_names, os.environ)
        self._group = cgroup.find()
        self._stop = threading.Event()
        self._keeper_pid: int | None = None
        self._root_pid: int | None = None
        self._client_pids = [config.client_pid]
        self._target: tuple[str, str] | None = None
        self._missed: dict[str, int] = {}

    def run(self) -> int:
        self._writer.start()
        config = self._config
        threads = [
            self._every("telemetry", config.telemetry_interval_s, self._read),
            self._every("scrapes", config.scrape_interval_s, self._scrape),
            self._every("anchors", config.anchor_interval_s, self._anchor),
        ]
        if amd_smi.DRIVER.exists():  # a command a reading, which must not hold up the others
            every_s = max(config.telemetry_interval_s, amd_smi.INTERVAL_S)
            threads.append(self._every("amd-smi", every_s, self._read_amd))
        for line in sys.stdin:
            self._obey(json.loads(line))
        self._stop.set()
        for thread in threads:
            thread.join()
        self._read()
        self._anchor()
        reports = [asdict(report) for report in self._writer.close()]
        try:
            sys.stdout.write(json.dumps({"reports": reports, "missed_turns": self._missed}) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:  # the runner was killed: its own end is the news, not this one
            sys.stdout = None
        return 0

    def _obey(self, command: dict[str, Any]) -> None:
        """``{"keeper": pid}`` names the engine's tree, ``{"root": pid}`` that of its container,
        ``{"scrape": [base_url, path]}`` what to scrape, ``{"clients": [pids]}`` the client processes beside
        the first.
        """
        self._keeper_pid = command.get("keeper", self._keeper_pid)
        self._root_pid = command.get("root", self._root_pid)
        self._client_pids += command.get("clients", [])
        if "scrape" in command:
            target = command["scrape"]
            self._target = (target[0], target[1]) if target else None

    def _every(self, name: str, interval_s: float, work: Callable[[], None]) -> threading.Thread:
        """Call ``work`` at absolute times; a turn that comes too late is counted, not made up for."""

        def loop() -> None:
            due = time.monotonic()
            while not self._stop.is_set():
                work()
                due += interval_s
                late = time.monotonic() - due
                if late > 0:
                    missed = int(late / interval_s) + 1
                    self._missed[name] = self._missed.get(name, 0) + missed
                    due += missed * interval_s
                self._stop.wait(max(due - time.monotonic(), 0))

        thread = threading.Thread(target=loop, name=name, daemon=True)
        thread.start()
        return thread

    def _read(self) -> None:
        rows = telemetry.host_rows(self._group)
        rows += telemetry.process_rows("client", self._client_pids)
        rows += telemetry.process_rows("sampler", [os.getpid()])
        if self._keeper_pid is not None:
            rows += telemetry.process_rows("keeper", [self._keeper_pid])
            rows += telemetry.process_rows("engine", processes.descendants(self._keeper_pid))
        if self._root_pid is not None:
            inside = {self._root_pid, *processes.descendants(self._root_pid)}
            rows += telemetry.process_rows("engine", inside)
        for row in rows:
            self._telemetry.append(row)

    def _read_amd(self) -> None:
        for row in amd_smi.rows():
            self._telemetry.append(row)

    def _scrape(self) -> None:
        target = self._target
        if target is not None:
            from runners.evidence import (
                metrics,
            )  # with HTTP behind it, which most endpoints have no use for

            timeout_s = max(self._config.scrape_interval_s, 2.0)
            row, found = metrics.scrape(*target, timeout_s=timeout_s, redactor=self._redactor)
            if self._target is None:
                return  # the engine is being stopped: no failure of a scrape
            self._scrapes.append(row)
            for item in found:
                entry = {"file": layout.SCRAPES, "t_ns": row[0], **asdict(item)}
                self._append(REDACTIONS, entry)

    def _anchor(self) -> None:
        self._append(ANCHORS, clocks.anchor())

    def _append(self, name: str, row: Mapping[str, Any]) -> None:
        try:
            with (self._folder / name).open("ab", buffering=0) as stream:
                stream.write(json.dumps(row).encode() + b"\n")
        except OSError:  # a full disk: the runner's own watch ends the run
            self._missed[name] = self._missed.get(name, 0) + 1


def main() -> int:
    config = SamplerConfig(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    return Sampler(config).run()


if __name__ == "__main__":
    sys.exit(main())
