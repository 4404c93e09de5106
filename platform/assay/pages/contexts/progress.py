"""Where a run that goes is: phase, count, time left, last line. Cheap: few rows and the end of one file."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from assay.execution.models import Execution
from assay.execution.waiting import Waiting, waiting
from assay.ledger.models import Run
from assay.pages.contexts.session_log import tail
from runners.protocol import layout

MIN_DONE = 1  # below this a rate means nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """``left`` is None when no rate can be taken yet; ``waiting`` says where a queued run stands."""

    state: str
    phase: str
    done: int
    total: int
    message: str
    elapsed: timedelta | None
    left: timedelta | None
    waiting: Waiting | None = None

    @property
    def live(self) -> bool:
        return self.state in ("queued", "running")

    @property
    def ahead(self) -> int:
        return self.waiting.ahead if self.waiting else 0

    @property
    def percent(self) -> int | None:
        return min(100, round(100 * self.done / self.total)) if self.total else None


def progress_of(run: Run, now: datetime | None = None) -> Progress:
    return progress_of_live([run], now)[run.id]


def progress_of_live(runs: Sequence[Run], now: datetime | None = None) -> dict[UUID, Progress]:
    """Of each run; three queries at most, and one file for each that is being carried out."""
    now = now or datetime.now(UTC)
    line = waiting(runs)
    going = [run.id for run in runs if run.state == "running"]
    executions = {}
    if going:
        found = Execution.objects.filter(run__in=going, state="running").order_by("started_at")
        executions = {execution.run_id: execution for execution in found}
    return {
        run.id: _progress(run, now, _entries(executions.get(run.id)), line.get(run.id))
        for run in runs
    }


def _progress(
    run: Run, now: datetime, entries: list[dict[str, Any]], place: Waiting | None
) -> Progress:
    last = entries[-1] if entries else run.progress
    return Progress(
        state=run.state,
        phase=str(last.get("phase", "")),
        done=int(last.get("done") or 0),
        total=int(last.get("total") or 0),
        message=str(last.get("message", "")),
        elapsed=now - run.started_at if run.started_at else None,
        left=time_left(entries, now),
        waiting=place,
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


def _entries(execution: Execution | None) -> list[dict[str, Any]]:
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
