"""The engine's own event log: one JSON object a line, stamped in CLOCK_MONOTONIC nanoseconds.

Two processes append to the same file. Each hands whole lines to one ``write`` on a descriptor opened with
O_APPEND, so lines of the two interleave but never mix, and a process that is killed loses only the lines of
the step it was in. Prompts, answers and token ids never enter this log.
"""

import json
import os
import time
from pathlib import Path

from runners.protocol.clocks import clock_domain
from runners.protocol.events import EngineEvent


def now_ns() -> int:
    return time.monotonic_ns()


class EventLog:
    """``append`` collects, ``flush`` writes. ``dropped`` counts lines a full disk did not take."""

    def __init__(self, path: Path, *, process: str) -> None:
        self._descriptor = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
        self._lines: list[str] = []
        self._torn = False
        self.dropped = 0
        self.problem: str | None = None
        self.append(
            EngineEvent.clock,
            now_ns(),
            clock_domain=clock_domain(),
            process=process,
            pid=os.getpid(),
        )
        self.flush()

    def append(
        self, event: EngineEvent, t_ns: int, request: str | None = None, **value: object
    ) -> None:
        line: dict[str, object] = {"event": event.value, "t_ns": t_ns}
        if request is not None:
            line["request"] = request
        self._lines.append(json.dumps(line | value, separators=(",", ":"), ensure_ascii=False))

    def flush(self) -> None:
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        data = ("\n" * self._torn + "\n".join(lines) + "\n").encode()
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            self._lose(len(lines), str(error))
            return
        self._torn = written < len(data) and data[written - 1 : written] != b"\n"
        if written < len(data):  # the disk filled within this write
            self._lose(data[written:].count(b"\n"), "short write")

    def write(
        self, event: EngineEvent, t_ns: int, request: str | None = None, **value: object
    ) -> None:
        self.append(event, t_ns, request, **value)
        self.flush()

    def close(self) -> None:
        self.flush()
        os.close(self._descriptor)

    def _lose(self, lines: int, why: str) -> None:
        self.dropped += lines
        self.problem = why
