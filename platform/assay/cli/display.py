"""Progress for people, on stderr: phase, count, time left, last line. Plain lines where no terminal is."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from runners.protocol.documents import Progress as ProgressLine

PLAIN_EVERY_S = 5.0


class Display:
    """One line that moves on a terminal; otherwise a line at each phase and every few seconds."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stderr)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._phase = ""
        self._last_plain = 0.0
        self._last_text = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def start_run(self, number: int, *, of: int, run_id: str, label: Mapping[str, Any]) -> None:
        self.close()
        moved = " ".join(f"{k}={v}" for k, v in label.items())
        self._console.print(Text(f"run {number} of {of}  {run_id}  {moved}".rstrip()))

    def say(self, phase: str, message: str) -> None:
        self.show(ProgressLine(t="", phase=phase, done=0, total=0, message=message))

    def show(self, line: ProgressLine) -> None:
        if self._console.is_terminal:
            self._move(line)
        else:
            self._print_plain(line)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None
        self._phase = ""

    def _move(self, line: ProgressLine) -> None:
        if self._bar is None:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[message]}", markup=False),
                console=self._console,
                transient=True,
            )
            self._bar.start()
        total = line["total"] or None
        if self._task is None or line["phase"] != self._phase:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(line["phase"], total=total, message="")
            self._phase = line["phase"]
        self._bar.update(self._task, completed=line["done"], total=total, message=line["message"])

    def _print_plain(self, line: ProgressLine) -> None:
        now = time.monotonic()
        if line["phase"] == self._phase and now - self._last_plain < PLAIN_EVERY_S:
            return
        count = f" {line['done']}/{line['total']}" if line["total"] else ""
        text = f"{line['phase']}{count}  {line['message']}".rstrip()
        if text != self._last_text:
            self._console.print(Text(text), soft_wrap=True)
        self._phase, self._last_plain, self._last_text = line["phase"], now, text
