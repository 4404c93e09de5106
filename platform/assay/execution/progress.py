"""Follow ``progress.jsonl`` of a live execution as it grows, and say how long the rest may take."""

import json
from collections.abc import Callable
from pathlib import Path

from runners.protocol.documents import Progress

Show = Callable[[Progress], None]


def ignore(_progress: Progress) -> None:
    """For callers who do not watch."""


class ProgressReader:
    """Reads whole lines only: the last line may still be being written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def new_lines(self) -> list[Progress]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            block = stream.read()
        whole = block[: block.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [line for raw in whole.splitlines() if (line := _parse(raw)) is not None]


def _parse(raw: bytes) -> Progress | None:
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    if not isinstance(found, dict) or "phase" not in found:
        return None
    return Progress(
        t=str(found.get("t", "")),
        phase=str(found["phase"]),
        done=int(found.get("done") or 0),
        total=int(found.get("total") or 0),
        message=str(found.get("message", "")),
    )
