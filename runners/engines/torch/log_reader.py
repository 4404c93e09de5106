"""Find the engine's own echo in its log: ``LABEL: {json}`` lines, each with its line number."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LINE = re.compile(r"^\S+ INFO +\[(front|loop) (\d+)\] ([a-z_]+): (\{.*\})\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    """One echoed fact. ``line`` counts from 1."""

    label: str
    line: int
    process: str
    value: dict[str, Any]


def read_log(path: Path) -> dict[str, Echo]:
    """The last echo of each label in an engine.log; a line that is cut or foreign is passed over."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        return echoes_of(lines)


def echoes_of(lines: Iterable[str]) -> dict[str, Echo]:
    found: dict[str, Echo] = {}
    for number, line in enumerate(lines, start=1):
        match = _LINE.match(line)
        if match is None:
            continue
        process, _, label, text = match.groups()
        try:
            value = json.loads(text)
        except ValueError:
            continue
        found[label] = Echo(label=label, line=number, process=process, value=value)
    return found
