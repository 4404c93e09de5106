"""The session log of a run: from its bundle, or from the working folder while it goes."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.execution.models import Execution
from assay.pages.contexts.head import RunHead
from assay.pages.hostile import visible
from runners.protocol import layout

TAIL_BYTES = 256 * 1024
TAIL_LINES = 120
LINE_CHARACTERS = 2_000
_OWN_FIELDS = frozenset({"event", "t_ns", "t", "wall", "clock_domain"})
_BAD_EVENTS = frozenset({"failure", "interrupted", "reaped"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    line: int
    event: str
    since_s: float | None  # from the first row with a time
    fields: dict[str, Any]

    @property
    def bad(self) -> bool:
        return self.event in _BAD_EVENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The last lines of a text file; ``cut`` when there are more before them."""

    name: str
    lines: list[str]
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    rows: list[SessionRow]
    engine_log: Tail | None
    where: str  # "bundle" | "working folder" | ""


def log_page(head: RunHead) -> LogPage:
    folder, where = _folder(head)
    if folder is None:
        return LogPage(rows=[], engine_log=None, where="")
    return LogPage(
        rows=session_rows(folder / layout.SESSION),
        engine_log=_shown(tail(folder / layout.ENGINE_LOG, layout.ENGINE_LOG)),
        where=where,
    )


def _shown(end: Tail | None) -> Tail | None:
    """As text, whatever the engine printed."""
    return end and replace(end, lines=[visible(line, LINE_CHARACTERS) for line in end.lines])


def session_rows(path: Path) -> list[SessionRow]:
    """Every whole line; a line that is still being written, or damaged, is shown as it is."""
    if not path.is_file():
        return []
    rows: list[SessionRow] = []
    origin: int | None = None
    for number, raw in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            entry = json.loads(raw)
        except ValueError:
            entry = {"event": "unreadable", "line": raw[:500].decode("utf-8", "replace")}
        t_ns = entry.get("t_ns")
        origin = t_ns if origin is None else origin
        rows.append(
            SessionRow(
                line=number,
                event=str(entry.get("event", "")),
                since_s=(t_ns - origin) / 1e9 if t_ns is not None and origin is not None else None,
                fields={k: v for k, v in entry.items() if k not in _OWN_FIELDS and v is not None},
            )
        )
    return rows


def tail(path: Path, name: str) -> Tail | None:
    """The last lines of a file of any size, or None when there is no such file."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - TAIL_BYTES))
            raw = stream.read()
    except FileNotFoundError:
        return None
    lines = raw.decode("utf-8", "replace").splitlines()
    return Tail(
        name=name,
        lines=lines[-TAIL_LINES:],
        cut=size > TAIL_BYTES or len(lines) > TAIL_LINES,
    )


def _folder(head: RunHead) -> tuple[Path | None, str]:
    if head.folder is not None and head.folder.folder.is_dir():
        return head.folder.folder, "bundle"
    execution = Execution.objects.filter(run=head.run).order_by("-started_at").first()
    if execution is None:
        return None, ""
    working = execution.out / layout.BUNDLE_FOLDER
    return (working, "working folder") if working.is_dir() else (None, "")
