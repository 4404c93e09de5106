"""Schedules: what fires when, and the series of each watched metric."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.analysis.metrics.catalogue import ALL_RULES, title_of
from assay.analysis.regression import numeric
from assay.analysis.regression.answers import GREEN, Answer
from assay.pages.charts.series import Band, Hindsight, Point, Stretch, series
from assay.pages.charts.theme import Figure
from assay.pages.formatting import Quantity, quantity, scale_of
from assay.regressions.findings import STILL_OPEN
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

    @property
    def label(self) -> str:
        return str(self.watch.pk)

    @property
    def metric(self) -> str:
        """Its name in an address."""
        return address_of(self.watch)

    @property
    def is_approved(self) -> bool:
        return self.baseline is not None and bool(self.baseline.accepted_by)


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
    def to_approve(self) -> bool:
        return any(w.baseline is not None and not w.is_approved for w in self.watched)

    @property
    def nothing_yet(self) -> bool:
        return not any(w.rows for w in self.watched)


def address_of(watch: Watch) -> str:
    return f"{watch.rule}:{watch.statistic}"


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
        watched=[watched(w, _of(w, answers)) for w in schedule.watches.order_by("pk")],
        firings=list(firings),
        findings=list(schedule.findings.select_related("run").order_by("-opened_at")),
        may_manage=access.may(Action.manage, schedule.project_id),
        may_write=access.may(Action.write, schedule.project_id),
    )


def _newest_answers(answers: Sequence[CheckRecord]) -> dict[str, int]:
    newest = answers[0].firing_id if answers else None
    counted: dict[str, int] = {}
    for row in answers:
        if row.firing_id == newest:
            counted[row.answer] = counted.get(row.answer, 0) + 1
    return counted


def _of(watch: Watch, answers: Sequence[CheckRecord]) -> list[CheckRecord]:
    return [row for row in answers if row.watch_id == watch.pk][::-1]


def watched(
    watch: Watch, own: Sequence[CheckRecord], hindsight: Hindsight | None = None
) -> WatchedSeries:
    """``own`` are its answers, oldest first; ``hindsight`` is in the metric's own unit."""
    unit = ALL_RULES[watch.rule].unit if watch.rule in ALL_RULES else ""
    largest = max((row.value for row in own if row.value is not None), default=0.0)
    factor, shown_unit = scale_of(largest, unit)
    baseline = next((row.baseline for row in reversed(own) if row.baseline is not None), None)
    rows = [_answer(row, place, unit) for place, row in enumerate(own, start=1)]
    return WatchedSeries(
        watch=watch,
        title=_title(watch),
        unit=unit,
        baseline=baseline,
        level=quantity(baseline.level, unit) if baseline is not None else None,
        spread=baseline.scale / abs(baseline.level) if baseline is not None else None,
        rows=rows[::-1],
        figure=_figure(own, rows, factor, shown_unit, hindsight or Hindsight())
        if own and watch.better
        else None,
    )


def _title(watch: Watch) -> str:
    if watch.rule == numeric.RULE:
        return _("Token ids, request by request")
    return f"{title_of(watch.rule)} {watch.statistic}"


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
    own: Sequence[CheckRecord],
    rows: Sequence[AnswerRow],
    factor: float,
    unit: str,
    hindsight: Hindsight,
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
    return series(
        points, _bands(own, rows, factor), unit=unit, hindsight=_scaled(hindsight, factor)
    )


def _scaled(hindsight: Hindsight, factor: float) -> Hindsight:
    def scaled(one: Stretch) -> Stretch:
        return replace(one, begin=one.begin / factor, end=one.end / factor)

    return Hindsight(
        stretches=[scaled(s) for s in hindsight.stretches],
        drift=scaled(hindsight.drift) if hindsight.drift is not None else None,
    )


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
