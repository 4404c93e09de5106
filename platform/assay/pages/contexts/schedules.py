"""Schedules: what fires when, the series of each watched metric, and what was found."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.analysis.metrics.catalogue import ALL_RULES, title_of
from assay.analysis.regression.answers import GREEN, Answer
from assay.pages.charts.series import Band, Point, series
from assay.pages.charts.theme import Figure
from assay.pages.formatting import Quantity, quantity, scale_of
from assay.regressions.findings import STEPS, STILL_OPEN
from assay.regressions.models import (
    BaselineRecord,
    CheckRecord,
    Finding,
    Firing,
    Schedule,
    Watch,
)
from assay.regressions.queries import latest_answers, next_slot, visible_findings, visible_schedules
from assay.regressions.slots import Slot

SHOWN_FIRINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRow:
    schedule: Schedule
    next: Slot | None
    answers: dict[str, int]  # of its newest firing that was judged
    open_findings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    check: CheckRecord
    place: int
    value: Quantity | None
    change: float | None
    green: bool
    begins_segment: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedSeries:
    """One metric: its figure and, newest first, the rows behind it."""

    watch: Watch
    title: str
    unit: str
    baseline: BaselineRecord | None
    level: Quantity | None
    spread: float | None
    rows: list[AnswerRow]
    figure: Figure | None

    @property
    def figure_id(self) -> str:
        return f"series-{self.watch.pk}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePage:
    schedule: Schedule
    next: Slot | None
    watched: list[WatchedSeries]
    firings: list[Firing]
    findings: list[Finding]
    may_manage: bool
    may_write: bool

    @property
    def nothing_yet(self) -> bool:
        return not any(w.rows for w in self.watched)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingPage:
    finding: Finding
    metrics: list[tuple[str, float | None, str]]
    moved: list[dict[str, object]]
    unknown: int
    steps: list[object]
    next_states: Sequence[str]
    checks: list[CheckRecord]
    may_manage: bool


def schedule_rows(access: Access) -> list[ScheduleRow]:
    open_ = Count("findings", filter=Q(findings__state__in=STILL_OPEN))
    found = visible_schedules(access).select_related("project").annotate(open_findings=open_)
    return [
        ScheduleRow(
            schedule=s,
            next=None if s.paused else next_slot(s),
            answers=_newest_answers(latest_answers(s)),
            open_findings=s.open_findings,
        )
        for s in found.order_by("name")
    ]


def open_findings(access: Access) -> list[Finding]:
    found = visible_findings(access).filter(state__in=STILL_OPEN)
    return list(found.select_related("schedule", "run").order_by("-opened_at"))


def schedule_page(schedule_id: UUID, access: Access) -> SchedulePage:
    schedule = get_object_or_404(Schedule.objects.select_related("project"), pk=schedule_id)
    answers = latest_answers(schedule)
    firings = schedule.firings.select_related("study").order_by("-slot")[:SHOWN_FIRINGS]
    return SchedulePage(
        schedule=schedule,
        next=None if schedule.paused else next_slot(schedule),
        watched=[_watched(w, answers) for w in schedule.watches.order_by("pk")],
        firings=list(firings),
        findings=list(schedule.findings.select_related("run").order_by("-opened_at")),
        may_manage=access.may(Action.manage, schedule.project_id),
        may_write=access.may(Action.write, schedule.project_id),
    )


def finding_page(finding_id: UUID, access: Access) -> FindingPage:
    finding = get_object_or_404(Finding.objects.select_related("schedule", "run"), pk=finding_id)
    differing = [f for f in finding.identity if f["verdict"] != "unknown"]
    return FindingPage(
        finding=finding,
        metrics=[(m["metric"], m["change"], m["reason"]) for m in finding.metrics],
        moved=differing,
        unknown=len(finding.identity) - len(differing),
        steps=list(finding.steps.order_by("pk")),
        next_states=STEPS[finding.state],
        checks=list(finding.checks.select_related("watch", "run", "firing").order_by("-pk")),
        may_manage=access.may(Action.manage, finding.schedule.project_id),
    )


def _newest_answers(answers: Sequence[CheckRecord]) -> dict[str, int]:
    newest = answers[0].firing_id if answers else None
    counted: dict[str, int] = {}
    for row in answers:
        if row.firing_id == newest:
            counted[row.answer] = counted.get(row.answer, 0) + 1
    return counted


def _watched(watch: Watch, answers: Sequence[CheckRecord]) -> WatchedSeries:
    own = [row for row in answers if row.watch_id == watch.pk][::-1]
    unit = ALL_RULES[watch.rule].unit if watch.rule in ALL_RULES else ""
    largest = max((row.value for row in own if row.value is not None), default=0.0)
    factor, shown_unit = scale_of(largest, unit)
    baseline = next((row.baseline for row in reversed(own) if row.baseline is not None), None)
    rows = [_answer(row, place, unit) for place, row in enumerate(own, start=1)]
    return WatchedSeries(
        watch=watch,
        title=f"{title_of(watch.rule)} {watch.statistic}",
        unit=unit,
        baseline=baseline,
        level=quantity(baseline.level, unit) if baseline is not None else None,
        spread=baseline.scale / abs(baseline.level) if baseline is not None else None,
        rows=rows[::-1],
        figure=_figure(own, rows, factor, shown_unit) if own else None,
    )


def _answer(row: CheckRecord, place: int, unit: str) -> AnswerRow:
    return AnswerRow(
        check=row,
        place=place,
        value=quantity(row.value, unit) if row.value is not None else None,
        change=row.change,
        green=row.answer in GREEN,
        begins_segment=row.answer == Answer.not_comparable,
    )


def _figure(
    own: Sequence[CheckRecord], rows: Sequence[AnswerRow], factor: float, unit: str
) -> Figure:
    points = [
        Point(
            place=row.place,
            label=_when(row.check),
            value=None if row.check.value is None else row.check.value / factor,
            answer=row.check.answer,
            begins_segment=row.begins_segment,
        )
        for row in rows
    ]
    return series(points, _bands(own, rows, factor), unit=unit)


def _bands(own: Sequence[CheckRecord], rows: Sequence[AnswerRow], factor: float) -> list[Band]:
    """One for each stretch of starts that were held against the same baseline."""
    bands: list[Band] = []
    for check, row in zip(own, rows, strict=True):
        record = check.baseline
        if record is None:
            continue
        level, scale = record.level / factor, record.scale / factor
        last = bands[-1] if bands else None
        if last is not None and last.last == row.place - 1 and last.level == level:
            bands[-1] = Band(first=last.first, last=row.place, level=level, scale=scale)
        else:
            bands.append(Band(first=row.place, last=row.place, level=level, scale=scale))
    return bands


def _when(row: CheckRecord) -> str:
    at: datetime | None = row.firing.slot if row.firing is not None else None
    return f"{at:%Y-%m-%d %H:%M} UTC" if at is not None else _("no slot")
