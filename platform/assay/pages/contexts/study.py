"""A study: the question, its runs in recorded order, and small multiples over what was moved."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404

from assay.ledger.models import Study
from assay.pages.charts.sweep import Panel, Point, small_multiples
from assay.pages.charts.theme import Figure
from assay.pages.contexts.measures import HEADLINES, MeasureLine
from assay.pages.contexts.run_rows import RunRow, for_rows, run_rows
from assay.pages.formatting import scale_of

SHOWN_RUNS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPage:
    study: Study
    variables: list[str]
    rows: list[RunRow]
    figure: Figure | None
    moved: str
    live: bool
    left_out: int  # runs that are not drawn: their numbers go by another definition version
    starts: int  # fresh starts a cell; one start leaves the spread between starts unknown


def study_page(study_id: UUID) -> StudyPage:
    """Raises Http404 for an unknown study."""
    study = get_object_or_404(Study.objects.select_related("project"), pk=study_id)
    runs = for_rows(study.runs.all()).order_by("position", "repetition")
    rows = run_rows(list(runs[:SHOWN_RUNS]))
    variables = list(dict.fromkeys(name for row in rows for name in row.variables))
    moved = next((v for v in variables if _values(rows, v) > 1), "")
    drawn = _of_one_definition(rows)
    return StudyPage(
        study=study,
        variables=variables,
        rows=rows,
        figure=_figure(drawn, moved) if moved else None,
        moved=moved,
        live=any(row.live for row in rows),
        left_out=sum(bool(row.definition_version) for row in rows) - len(drawn),
        starts=1 + max((row.repetition for row in rows), default=0),
    )


def _of_one_definition(rows: list[RunRow]) -> list[RunRow]:
    """The rows read by the definition version that most were read by: names alone make no equal metric."""
    versions = Counter(row.definition_version for row in rows if row.definition_version)
    most = versions.most_common(1)
    return [row for row in rows if most and row.definition_version == most[0][0]]


def _values(rows: list[RunRow], variable: str) -> int:
    return len({str(row.variables.get(variable)) for row in rows})


def _figure(rows: list[RunRow], variable: str) -> Figure | None:
    panels = []
    for index, headline in enumerate(HEADLINES):
        points = [
            _point(row.variables.get(variable), line, row)
            for row in rows
            if (line := row.headlines[index]).value is not None
        ]
        unit = next((row.headlines[index].unit for row in rows if row.headlines[index].unit), "")
        panels.append(_scaled(Panel(title=headline.label, unit=unit, points=points)))
    if not any(panel.points for panel in panels):
        return None
    return small_multiples(panels, variable)


def _scaled(panel: Panel) -> Panel:
    """The panel in the unit that suits its largest value."""
    factor, unit = scale_of(max((p.y for p in panel.points), default=0.0), panel.unit)
    return Panel(
        title=panel.title,
        unit=unit,
        points=[
            replace(
                p,
                y=p.y / factor,
                low=None if p.low is None else p.low / factor,
                high=None if p.high is None else p.high / factor,
            )
            for p in panel.points
        ],
    )


def _point(at: Any, line: MeasureLine, row: RunRow) -> Point:
    assert line.value is not None
    number = isinstance(at, int | float) and not isinstance(at, bool)
    return Point(
        x=at if number else str(at),
        y=line.value,
        low=line.low,
        high=line.high,
        run=f"#{row.position}",
    )
