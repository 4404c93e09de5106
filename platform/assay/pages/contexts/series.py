"""One watched metric over its starts: segments and why they began, baseline, drift, change points."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

from django.http import Http404
from django.shortcuts import get_object_or_404

from assay.accounts.access import Access
from assay.accounts.models import Action
from assay.analysis.metrics.catalogue import ALL_RULES
from assay.analysis.regression import numeric
from assay.analysis.regression.answers import Answer
from assay.analysis.regression.change_points import SHORTEST
from assay.analysis.regression.drift import LEAST_DRIFT, TREND_P
from assay.pages.charts.series import Hindsight, Stretch
from assay.pages.contexts.schedules import WatchedSeries, address_of, watched
from assay.pages.formatting import Quantity, quantity
from assay.regressions.looking_back import Retrospect, retrospect
from assay.regressions.models import BaselineRecord, CheckRecord, Finding, LookBack, Schedule, Watch
from assay.regressions.queries import answers_of

SHOWN_WEEKS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    """Places of its first and last start; ``why`` is empty for the first segment."""

    first: int
    last: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """A change of level, with the start that it came with."""

    place: int
    check: CheckRecord
    before: Quantity
    after: Quantity
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPage:
    schedule: Schedule
    series: WatchedSeries
    others: list[tuple[str, str]]  # the schedule's metrics: address, name
    segments: list[SegmentRow]
    points: list[PointRow]
    shortest: int  # starts of a level that is one
    look: Retrospect
    reference: BaselineRecord | None
    reference_level: Quantity | None
    least_drift: float
    trend_p: float
    weeks: list[LookBack]
    findings: list[Finding]
    is_numeric: bool
    may_manage: bool


def series_page(schedule_id: UUID, metric: str, access: Access) -> SeriesPage:
    """Raises Http404 for a metric that the schedule does not watch."""
    schedule = get_object_or_404(Schedule.objects.select_related("project"), pk=schedule_id)
    watches = list(schedule.watches.order_by("pk"))
    watch = next((w for w in watches if address_of(w) == metric), None)
    if watch is None:
        raise Http404(f"{schedule.name} does not watch {metric}")
    own = answers_of(watch)
    look = retrospect(watch, own)
    places = {row.pk: place for place, row in enumerate(own, start=1)}
    unit = ALL_RULES[watch.rule].unit if watch.rule in ALL_RULES else ""
    is_numeric = watch.rule == numeric.RULE
    reference = look.reference
    return SeriesPage(
        schedule=schedule,
        series=watched(watch, own, None if is_numeric else _hindsight(look, places)),
        others=[(address_of(w), f"{w.rule} {w.statistic}") for w in watches if w != watch],
        segments=_segments(own),
        points=_points(look, places, unit),
        shortest=SHORTEST,
        look=look,
        reference=reference,
        reference_level=quantity(reference.level, unit) if reference is not None else None,
        least_drift=LEAST_DRIFT,
        trend_p=TREND_P,
        weeks=list(watch.looks_back.order_by("-week")[:SHOWN_WEEKS]),
        findings=_findings(watch),
        is_numeric=is_numeric,
        may_manage=access.may(Action.manage, schedule.project_id),
    )


def _findings(watch: Watch) -> list[Finding]:
    found = Finding.objects.filter(checks__watch=watch).distinct()
    return list(found.select_related("schedule", "run").order_by("-opened_at"))


def _segments(own: Sequence[CheckRecord]) -> list[SegmentRow]:
    if not own:
        return []
    begins = [0, *(n for n, row in enumerate(own) if n and row.answer == Answer.not_comparable)]
    return [
        SegmentRow(first=a + 1, last=b, why=own[a].reason if a else "")
        for a, b in pairwise([*begins, len(own)])
    ]


def _points(look: Retrospect, places: dict[int, int], unit: str) -> list[PointRow]:
    return [
        PointRow(
            place=places[look.starts[point.at].pk],
            check=look.starts[point.at],
            before=quantity(point.before, unit),
            after=quantity(point.after, unit),
            change=point.change,
        )
        for point in look.points
    ]


def _hindsight(look: Retrospect, places: dict[int, int]) -> Hindsight:
    at = [places[row.pk] for row in look.starts]
    return Hindsight(stretches=_stretches(look, at), drift=_drift(look, at))


def _stretches(look: Retrospect, at: Sequence[int]) -> list[Stretch]:
    """The levels between change points; none where the level never changed: the baseline shows it."""
    if not look.points:
        return []
    edges = [0, *(p.at for p in look.points), len(at)]
    levels = [look.points[0].before, *(p.after for p in look.points)]
    return [
        Stretch(first=at[a], last=at[b - 1], begin=level, end=level)
        for (a, b), level in zip(pairwise(edges), levels, strict=True)
    ]


def _drift(look: Retrospect, at: Sequence[int]) -> Stretch | None:
    """The fitted line, ended where ``change`` says."""
    if look.drift is None or look.reference is None:
        return None
    n = look.drift.starts
    end = look.reference.level + look.drift.change * abs(look.reference.level)
    return Stretch(first=at[-n], last=at[-1], begin=end - look.drift.slope * (n - 1), end=end)
