"""The session log: what the runner did and when, one JSON object a line, written as it happens."""

import errno
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from runners.protocol import clocks
from runners.protocol.documents import Gap
from runners.protocol.events import SessionEvent
from runners.protocol.workspace import json_lines


class SessionRow(TypedDict, total=False):
    """Every row has the first four members; the others depend on the event."""

    event: str
    t_ns: int
    t: str
    clock_domain: str


class SessionLog:
    """Appends rows. Rows that a full disk does not take are held in memory, in order, and tried again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._domain = clocks.clock_domain()
        self._held: list[bytes] = []

    def write(self, event: SessionEvent, **fields: Any) -> Mapping[str, Any]:
        row: dict[str, Any] = {
            "event": event.value,
            "t_ns": time.monotonic_ns(),
            "t": clocks.utc(timespec="milliseconds"),
            "clock_domain": self._domain,
            **fields,
        }
        self._held.append(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        try:
            self.flush()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
        return row

    def flush(self) -> None:
        """Write every held row. Raises OSError while the disk is full."""
        while self._held:
            self._append(self._held[0])
            self._held.pop(0)

    def gap(self, gap: Gap) -> None:
        """Record a gap; the same gap a second time (sealing resumed) adds nothing."""
        known = (row for row in read(self._path) if row["event"] == SessionEvent.gap)
        if not any(row.get("what") == gap["what"] for row in known):
            self.write(SessionEvent.gap, **gap)

    def has(self, event: SessionEvent) -> bool:
        return any(row["event"] == event for row in read(self._path))

    def _append(self, line: bytes) -> None:
        with self._path.open("ab", buffering=0) as stream:
            start = stream.tell()
            if stream.write(line) != len(line):
                stream.truncate(start)
                raise OSError(errno.ENOSPC, "short write")


def read(path: Path) -> list[dict[str, Any]]:
    """Every whole row; a torn last line (the writer was killed) is left out."""
    return [row for row in json_lines(path) if "event" in row]


def mend(path: Path) -> int:
    """Cut a torn last line off a file of lines; returns how many bytes it had."""
    if not path.exists():
        return 0
    with path.open("r+b") as stream:
        size = stream.seek(0, 2)
        position = size
        while position > 0:
            step = min(position, 1 << 16)
            stream.seek(position - step)
            found = stream.read(step).rfind(b"\n")
            if found >= 0:
                position = position - step + found + 1
                break
            position -= step
        if position < size:
            stream.truncate(position)
        return size - position
