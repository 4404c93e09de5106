"""The written record of a live session: its log, its progress, and documents without secrets."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runners.evidence.secrets import Redactor, from_environment
from runners.protocol import clocks, layout, sealing
from runners.protocol.documents import Progress
from runners.protocol.errors import RunnerError
from runners.protocol.events import SessionEvent
from runners.protocol.session_log import SessionLog
from runners.protocol.workspace import Workspace

REDACTIONS = "redactions.jsonl"
WireRows = list[tuple[Any, ...]]


class Record:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.context = workspace.context()
        self.spec = workspace.spec()
        self.log = SessionLog(workspace.bundle / layout.SESSION)
        self.redactor = from_environment(self.context["secret_names"], os.environ)
        self._done = self._total = 0
        self._last_told: tuple[object, ...] = ()
        self._last_told_s = 0.0

    def clean(self, file: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """The document without secrets; each replacement is noted for ``redactions.json``."""
        clean, found = self.redactor.document(document)
        rows = [{"file": file, "pointer": pointer, "rule": rule} for pointer, rule in found]
        _append(self._workspace.root / REDACTIONS, rows)
        return dict(clean)

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        """A bundle document, without secrets."""
        sealing.write_document(self._workspace.bundle / name, self.clean(name, document))

    def wire_transform(self) -> Callable[[WireRows], WireRows] | None:
        """Masks declared secrets in the client's reads before they are kept; None if there are none."""
        return wire_transform(self.redactor, self._workspace.root / REDACTIONS)

    def failure(self, error: RunnerError, stage: str) -> None:
        fields = self.clean(layout.SESSION, asdict(error.finding))
        self.log.write(SessionEvent.failure, stage=stage, **fields)

    def count(self, done: int, total: int) -> None:
        """How many requests of the whole plan are done; every later line of progress says so."""
        self._done, self._total = done, total

    def tell(self, phase: str, message: str) -> None:
        """One line of progress, the same one at most once a second.

        Never fails: progress is for people, not evidence.
        """
        told = (phase, message, self._done, self._total)
        if told == self._last_told and time.monotonic() - self._last_told_s < 1.0:
            return
        self._last_told, self._last_told_s = told, time.monotonic()
        line = Progress(
            t=clocks.utc(timespec="milliseconds"),
            phase=phase,
            done=self._done,
            total=self._total,
            message=message,
        )
        with contextlib.suppress(OSError):
            _append(self._workspace.progress, [line])


def wire_transform(redactor: Redactor, notes: Path) -> Callable[[WireRows], WireRows] | None:
    """Masks declared secrets in reads and notes each in a file of JSON lines; None if there are none."""
    if not redactor.knows_values:
        return None

    def masked(rows: WireRows) -> WireRows:
        kept, entries = [], []
        for attempt_id, t_ns, data in rows:
            clean, found = redactor.mask(data)
            kept.append((attempt_id, t_ns, clean))
            place = {"file": layout.WIRE_FOLDER, "attempt_id": attempt_id, "t_ns": t_ns}
            entries += [{**place, "offset": f.offset, "rule": f.rule} for f in found]
        _append(notes, entries)
        return kept

    return masked


def _append(path: Path, rows: list[Any]) -> None:
    if rows:
        with path.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
