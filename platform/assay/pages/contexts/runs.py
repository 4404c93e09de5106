"""The list of runs: filters, one page of rows, their headline numbers."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from assay.accounts.access import Access
from assay.ledger.models import Bundle, Run
from assay.ledger.visibility import visible_runs, visible_studies
from assay.pages import words
from assay.pages.contexts.measures import HEADLINES, MeasureLine, measure_line, missing_line
from assay.pages.contexts.newest import Newest, newest_readings
from assay.pages.paging import Paged, window

SORTS = {
    "created": "created_at",
    "state": "state",
    "artifact": "artifact_name",
    "engine": "engine_key",
    "study": "study__name",
}
DEFAULT_SORT = "-created"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """What the reader asked for; an empty string filters nothing."""

    text: str = ""
    state: str = ""
    study: str = ""
    artifact: str = ""
    engine: str = ""
    sort: str = DEFAULT_SORT

    @classmethod
    def parse(cls, parameters: QueryDict) -> "RunFilter":
        sort = parameters.get("sort", DEFAULT_SORT)
        return cls(
            text=parameters.get("q", "").strip()[:200],
            state=parameters.get("state", ""),
            study=parameters.get("study", "")[:200],
            artifact=parameters.get("artifact", "")[:200],
            engine=parameters.get("engine", "")[:40],
            sort=sort if sort.removeprefix("-") in SORTS else DEFAULT_SORT,
        )

    def query(self) -> str:
        """The same filter as a query string, without what filters nothing."""
        given = {
            "q": self.text,
            "state": self.state,
            "study": self.study,
            "artifact": self.artifact,
            "engine": self.engine,
            "sort": self.sort if self.sort != DEFAULT_SORT else "",
        }
        return urlencode({name: value for name, value in given.items() if value})

    @property
    def active(self) -> bool:
        return bool(self.text or self.state or self.study or self.artifact or self.engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    id: UUID
    short_id: str
    study_id: UUID
    study_name: str
    position: int
    repetition: int
    variables: dict[str, Any]
    artifact_name: str
    artifact_digest: str | None
    engine: str
    device: str
    state: str
    state_reason: str
    created_at: datetime
    took: timedelta | None
    headlines: list[MeasureLine]
    completed: int | None
    offered: int | None
    gaps: int | None
    level: str
    identity_complete: bool | None
    definition_version: str  # by which its numbers were read; empty without a reading
    progress: dict[str, Any]

    @property
    def live(self) -> bool:
        return self.state in words.LIVE_STATES

    @property
    def no_numbers(self) -> str:
        """The one reason why none of the headline numbers is known, or an empty string."""
        reasons = {line.absent for line in self.headlines}
        known = any(line.quantity for line in self.headlines)
        return reasons.pop() if len(reasons) == 1 and not known else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPage:
    filter: RunFilter
    paged: Paged[RunRow]
    live: bool
    nothing_yet: bool
    states: list[str]
    studies: list[str]
    artifacts: list[str]
    engines: list[str]


def chosen_runs(wanted: RunFilter, access: Access) -> QuerySet[Run]:
    """Runs that pass the filter, in the asked order."""
    runs = visible_runs(access).select_related("study", "artifact")
    if wanted.state == "live":
        runs = runs.filter(state__in=words.LIVE_STATES)
    elif wanted.state:
        runs = runs.filter(state=wanted.state)
    if wanted.study:
        runs = runs.filter(study__name=wanted.study)
    if wanted.artifact:
        runs = runs.filter(artifact_name=wanted.artifact)
    if wanted.engine:
        runs = runs.filter(engine_key=wanted.engine)
    for word in wanted.text.split():
        runs = runs.filter(_holds(word))
    descending = "-" if wanted.sort.startswith("-") else ""
    return runs.order_by(descending + SORTS[wanted.sort.removeprefix("-")], "-created_at", "-id")


def runs_page(wanted: RunFilter, page: str | None, access: Access) -> RunsPage:
    chosen = chosen_runs(wanted, access)
    where = window(chosen.count(), page)
    rows = run_rows(list(chosen[where.offset : where.offset + where.size]))
    return RunsPage(
        filter=wanted,
        paged=Paged(rows=rows, window=where),
        live=any(row.live for row in rows),
        nothing_yet=where.total == 0 and not wanted.active,
        states=list(words.RUN_STATES),
        studies=_distinct(visible_studies(access).values_list("name", flat=True)),
        artifacts=_distinct(visible_runs(access).values_list("artifact_name", flat=True)),
        engines=_distinct(visible_runs(access).values_list("engine_key", flat=True)),
    )


def run_rows(runs: list[Run]) -> list[RunRow]:
    """Rows with headline numbers, in a fixed number of queries whatever the number of runs."""
    newest = newest_readings(runs)
    return [_row(run, newest.get(run.id)) for run in runs]


def _row(run: Run, reading: Newest | None) -> RunRow:
    client = reading.counts.get("client", {}) if reading else {}
    return RunRow(
        id=run.id,
        short_id=str(run.id)[-12:],
        study_id=run.study_id,
        study_name=run.study.name,
        position=run.position,
        repetition=run.repetition,
        variables=run.variables,
        artifact_name=run.artifact_name,
        artifact_digest=run.artifact.digest if run.artifact else None,
        engine=f"{run.engine_key} {run.engine_version}",
        device=run.device_name,
        state=run.state,
        state_reason=run.state_reason,
        created_at=run.created_at,
        took=run.ended_at - run.started_at if run.ended_at and run.started_at else None,
        headlines=headline_lines(run.state, reading),
        completed=client.get("completed", 0) if client else None,
        offered=sum(client.values()) if client else None,
        gaps=reading.gaps if reading else None,
        level=reading.level if reading else "",
        identity_complete=reading.identity_complete if reading else None,
        definition_version=reading.interpretation.definition_version if reading else "",
        progress=run.progress,
    )


def headline_lines(run_state: str, reading: Newest | None) -> list[MeasureLine]:
    """The headline numbers of a run, each a value or an unknown with its reason."""
    lines = []
    for headline in HEADLINES:
        measure = reading.measures.get((headline.rule, headline.statistic)) if reading else None
        if measure is not None:
            lines.append(measure_line(measure, headline))
        else:
            lines.append(missing_line(headline, why_no_number(run_state, reading)))
    return lines


def why_no_number(run_state: str, reading: Newest | None) -> str:
    if run_state in words.LIVE_STATES:
        return _("the run has not ended")
    if run_state == "refused":
        return _("nothing was launched")
    if reading is None:
        return _("not interpreted")
    return _("no such measure in this interpretation")


def _holds(word: str) -> Q:
    found = (
        Q(study__name__icontains=word)
        | Q(study__title__icontains=word)
        | Q(artifact_name__icontains=word)
        | Q(engine_version__icontains=word)
        | Q(device_name__icontains=word)
        | Q(spec_digest__startswith=word.lower())
    )
    if len(word) >= 6:
        holding = Bundle.objects.filter(digest__startswith=word.lower())
        found |= Q(id__in=holding.values("run"))
    try:
        return found | Q(id=UUID(word))
    except ValueError:
        return found


def _distinct(values: Any) -> list[str]:
    return sorted({str(value) for value in values.distinct().order_by()})
