"""What a run and its load workers say to each other, as files beside the bundle, and the clocks of both.

A load worker is another machine's client process. The platform carries the lines: the runner writes to
``told``, reads from ``said`` and knows of no database. Each file is JSON lines, written by one side only.

==========  ======================================================================================
told        ``{"drive": config}``, ``{"go": ns}`` on the runner's clock, ``{"stop": true}``
said        ``{"clock": DistantClock}``, ``{"ready": true}``, ``{"done": n, "total": n}``,
            ``{"drain": ns}`` (when it was heard of, on the runner's clock),
            ``{"report": ..., "streams": ..., "cpu": ...}``, or ``{"gone": why}``
==========  ======================================================================================
"""

import json
import os
import socket
from pathlib import Path
from typing import Any, TypedDict

from runners.protocol import clocks
from runners.protocol.documents import Exchange
from runners.protocol.workspace import json_lines

FOLDER = "distant"  # below an execution's working folder; there only if somebody carries the lines


class DistantClock(TypedDict):
    """A load worker's clock. ``low_ns`` and ``high_ns`` bound its lead over the runner's at all exchanges."""

    domain: str
    host: str
    boot_id: str
    time_namespace: str
    low_ns: int
    high_ns: int
    exchanges: list[Exchange]


def own_domain() -> str:
    """``<boot id>/<time namespace>/monotonic/<host>/<pid>``: a load worker's domain is its process's own.

    Also where its kernel is the runner's: that two clocks are one is never assumed, only measured.
    """
    return f"{clocks.clock_domain()}/{socket.gethostname()}/{os.getpid()}"


def offset_ns(clock: DistantClock) -> int:
    """The middle of the interval that the offset lies in."""
    return (clock["low_ns"] + clock["high_ns"]) // 2


def error_ns(clock: DistantClock) -> int:
    """Half of that interval, rounded up: what any time carried over may be off by."""
    return (clock["high_ns"] - clock["low_ns"] + 1) // 2


def told_file(root: Path, worker: int) -> Path:
    return root / FOLDER / f"{worker}.told.jsonl"


def said_file(root: Path, worker: int) -> Path:
    return root / FOLDER / f"{worker}.said.jsonl"


def write_line(path: Path, **line: Any) -> None:
    with path.open("ab", buffering=0) as stream:
        stream.write(json.dumps(line).encode() + b"\n")


class LineReader:
    """Reads a growing file of JSON lines; a last line that is still being written is left for later."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def new_lines(self) -> list[dict[str, Any]]:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                block = stream.read()
        except FileNotFoundError:
            return []
        whole = block[: block.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [json.loads(line) for line in whole.splitlines()]


def known_clocks(root: Path) -> dict[int, DistantClock]:
    """The clock of each load worker as it was last stated, by the mark of its process."""
    found = {}
    for path in sorted((root / FOLDER).glob("*.said.jsonl")):
        for line in json_lines(path):
            if "clock" in line:
                found[int(path.name.partition(".")[0])] = line["clock"]
    return found
