"""A load worker's client process (``python -m runners drive-shard``) and the lines it speaks.

The end of its input stops it, so that killing the worker ends it; what it says waits in a queue.
"""

import json
import queue
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assay.execution import launcher
from assay.execution.subprocesses import tail

_LAST_WORD_S = 30.0


class LoadProcess:
    """Runs from entry to exit."""

    def __init__(self, config: Path, folder: Path) -> None:
        self._config = config
        self._folder = folder
        self._log = folder / "drive-shard.log"
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                launcher.runner("drive-shard", self._config),
                cwd=self._folder,
                env=launcher.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, name="drive-shard", daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Hang up: it stops, writes what it captured and goes; then it is killed."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=_LAST_WORD_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def say(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()

    def lines(self, *, wait_s: float) -> list[dict[str, Any]]:
        """What it has said since; waits at most so long for a first line."""
        found = []
        with suppress(queue.Empty):
            found.append(self._lines.get(timeout=wait_s))
            while True:
                found.append(self._lines.get_nowait())
        return found

    def died(self) -> str | None:
        """How it ended, if it has and nothing that it said is left to be read."""
        if self._reader.is_alive() or not self._lines.empty():
            return None
        code = self._process.wait()
        return f"its client process ended with exit code {code}: {tail(self._log) or 'no word'}"

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(json.loads(line))
