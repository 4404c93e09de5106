"""The first page of the day: what goes, what ended, what weakens it, and what waits for the reader."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from assay.accounts.access import Access
from assay.ledger.models import Run
from assay.ledger.visibility import visible_runs
from assay.pages import words
from assay.pages.contexts.home_sections import SECTIONS, Section
from assay.pages.contexts.recent_gaps import RecentGaps, recent_gaps
from assay.pages.contexts.run_rows import RunRow, for_rows, run_rows

SHOWN_GOING = 20
SHOWN_QUEUED = 5
SHOWN_ENDED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What moves: polled while somebody looks."""

    going: Sequence[RunRow]  # running ones, then the next of the queue
    more_queued: int
    ended: Sequence[RunRow]

    @property
    def every(self) -> str:
        """How often to look again."""
        return "3s" if self.going else "20s"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomePage:
    activity: Activity
    gaps: RecentGaps
    sections: Sequence[Section]

    @property
    def nothing_yet(self) -> bool:
        return not self.activity.going and not self.activity.ended


def activity(access: Access) -> Activity:
    runs = visible_runs(access)
    running = _first(runs.filter(state="running").order_by("-started_at", "-id"), SHOWN_GOING)
    queued = runs.filter(state="queued", cancel_requested=False)
    line = queued.order_by("study_id", "position", "repetition")  # as workers take them
    first = _first(line, SHOWN_QUEUED)
    ended = _first(
        runs.filter(ended_at__isnull=False)
        .exclude(state__in=words.LIVE_STATES)
        .order_by("-ended_at", "-id"),
        SHOWN_ENDED,
    )
    rows = {row.id: row for row in run_rows([*running, *first, *ended])}
    return Activity(
        going=[rows[run.id] for run in (*running, *first)],
        more_queued=max(0, queued.count() - len(first)) if len(first) == SHOWN_QUEUED else 0,
        ended=[rows[run.id] for run in ended],
    )


def home_page(access: Access) -> HomePage:
    found = (section(access) for section in SECTIONS)
    return HomePage(
        activity=activity(access),
        gaps=recent_gaps(access),
        sections=[section for section in found if section is not None],
    )


def _first(runs: QuerySet[Run], most: int) -> list[Run]:
    return list(for_rows(runs)[:most])
