"""Where a run that goes is: phase, count, time left, last line. Cheap: one row and the end of one file."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.execution.models import Execution
from assay.ledger.models import Run
from assay.pages.contexts.session_log import tail
from runners.protocol import layout

MIN_DONE = 1  # below this a rate means nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """``left`` is None when no rate can be taken yet; ``ahead`` counts queued runs before this one."""

    state: str
    phase: str
    done: int
    total: int
    message: str
    elapsed: timedelta | None
    left: timedelta | None
    ahead: int

    @property
    def live(self) -> bool:
        return self.state in ("queued", "running")

    @property
    def percent(self) -> int | None:
        return min(100, round(100 * self.done / self.total)) if self.total else None


def progress_of(run: Run, now: datetime | None = None) -> Progress:
    now = now or datetime.now(UTC)
    entries = _entries(run) if run.state == "running" else []
    last = entries[-1] if entries else run.progress
    ahead = 0
    if run.state == "queued":
        ahead = Run.objects.filter(state="queued", created_at__lt=run.created_at).count()
    return Progress(
        state=run.state,
        phase=str(last.get("phase", "")),
        done=int(last.get("done") or 0),
        total=int(last.get("total") or 0),
        message=str(last.get("message", "")),
        elapsed=now - run.started_at if run.started_at else None,
        left=time_left(entries, now),
        ahead=ahead,
    )


def time_left(entries: list[dict[str, Any]], now: datetime) -> timedelta | None:
    """From the rate since the phase began: the time that what is left of this phase would take."""
    if not entries:
        return None
    last = entries[-1]
    own = [entry for entry in entries if entry.get("phase") == last.get("phase")]
    done = int(last.get("done") or 0) - int(own[0].get("done") or 0)
    began, seen = _when(own[0]), _when(last)
    if began is None or seen is None or done < MIN_DONE:
        return None
    spent = (seen - began).total_seconds()
    rest = int(last.get("total") or 0) - int(last.get("done") or 0)
    left = spent / done * rest - (now - seen).total_seconds()
    return timedelta(seconds=left) if rest > 0 and left > 0 else None


def _entries(run: Run) -> list[dict[str, Any]]:
    execution = Execution.objects.filter(run=run, state="running").order_by("-started_at").first()
    if execution is None:
        return []
    end = tail(execution.out / layout.PROGRESS, layout.PROGRESS)
    entries = []
    for line in end.lines if end else []:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue  # the line is still being written
    return entries


def _when(entry: dict[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(entry.get("t")))
    except ValueError:
        return None
