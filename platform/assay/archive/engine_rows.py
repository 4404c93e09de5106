"""Rows of the engine's own record by their event, read without taking the others apart."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runners.protocol import layout


def engine_rows(folder: Path, *events: str) -> Iterator[dict[str, Any]]:
    """Whole rows of these events, in file order, each with its ``source``: the log's line or its own."""
    path = folder / layout.ENGINE_EVENTS
    if not path.is_file():
        return
    wanted = [f'"{event}"'.encode() for event in events]
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not any(name in line for name in wanted):
                continue
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and row.get("event") in events:
                yield {"source": f"{layout.ENGINE_EVENTS}:{number}", **row}
