"""A run as one row: what it is, where in its life, chosen numbers, what weakens them, what was said of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from assay.analysis.documents import GradeDocument
from assay.ledger.models import Interpretation, Run
from assay.pages import words
from assay.pages.contexts.measures import (
    HEADLINES,
    Headline,
    MeasureLine,
    measure_line,
    missing_line,
)
from assay.pages.contexts.newest import Newest, newest_readings
from assay.pages.contexts.progress import Progress, progress_of_live
from assay.pages.grades import grade_of
from assay.review.queries import RunReview, states_of, tags_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    id: UUID
    short_id: str
    study_id: UUID
    study_name: str
    project_id: UUID
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
    ended_at: datetime | None
    took: timedelta | None
    headlines: list[MeasureLine]
    client: list[tuple[str, int]]  # states of the client ledger with their counts
    task: list[tuple[str, int]]  # what the contract makes of the tasks
    gaps: int | None
    level: str
    identity_complete: bool | None
    definition_version: str  # by which its numbers were read; empty without a reading
    progress: Progress | None  # of a run that is queued or goes
    interpretation: Interpretation | None
    review: RunReview | None
    tags: Sequence[str]  # added to the run, beside those of its declaration

    @property
    def live(self) -> bool:
        return self.state in words.LIVE_STATES

    @property
    def grade(self) -> GradeDocument | None:
        """Of the client's own figures. Reads a file where it is asked for first, so that exports need not."""
        return grade_of(self.interpretation) if self.interpretation else None

    @property
    def offered(self) -> int | None:
        return sum(count for _, count in self.client) if self.client else None

    @property
    def completed(self) -> int | None:
        return dict(self.client).get("completed", 0) if self.client else None

    @property
    def state_meaning(self) -> str:
        return str(words.RUN_STATES.get(self.state, ""))

    @property
    def no_numbers(self) -> str:
        """The one reason why none of the chosen numbers is known, or an empty string."""
        reasons = {line.absent for line in self.headlines}
        known = any(line.quantity for line in self.headlines)
        return reasons.pop() if len(reasons) == 1 and not known else ""


def for_rows(runs: QuerySet[Run]) -> QuerySet[Run]:
    """With what a row needs, and without the long documents that it does not."""
    return runs.select_related("study", "artifact").defer("spec", "artifact__document")


def run_rows(runs: Sequence[Run], headlines: Sequence[Headline] = HEADLINES) -> list[RunRow]:
    """Rows with the chosen numbers, in a fixed number of queries whatever the number of runs."""
    beside = _beside(runs, headlines)
    return [_row(run, beside, headlines) for run in runs]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beside:
    """What lies beside the rows of some runs, by run."""

    newest: dict[UUID, Newest]
    progress: dict[UUID, Progress]
    reviews: dict[UUID, RunReview]
    tags: dict[UUID, list[str]]


def _beside(runs: Sequence[Run], headlines: Sequence[Headline]) -> _Beside:
    newest = newest_readings(runs, headlines)
    ids = [run.id for run in runs]
    return _Beside(
        newest=newest,
        progress=progress_of_live([run for run in runs if run.state in words.LIVE_STATES]),
        reviews=states_of(ids),
        tags=tags_of(ids),
    )


def _row(run: Run, beside: _Beside, headlines: Sequence[Headline]) -> RunRow:
    reading = beside.newest.get(run.id)
    counts = reading.counts if reading else {}
    return RunRow(
        id=run.id,
        short_id=str(run.id)[-12:],
        study_id=run.study_id,
        study_name=run.study.name,
        project_id=cast(UUID, run.study.project_id),  # never null
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
        ended_at=run.ended_at,
        took=run.ended_at - run.started_at if run.ended_at and run.started_at else None,
        headlines=headline_lines(run.state, reading, headlines),
        client=words.in_order("client", counts.get("client", {})),
        task=words.in_order("task", counts.get("task", {})),
        gaps=reading.gaps if reading else None,
        level=reading.level if reading else "",
        identity_complete=reading.identity_complete if reading else None,
        definition_version=reading.interpretation.definition_version if reading else "",
        progress=beside.progress.get(run.id),
        interpretation=reading.interpretation if reading else None,
        review=beside.reviews.get(run.id),
        tags=beside.tags.get(run.id, ()),
    )


def headline_lines(
    run_state: str, reading: Newest | None, headlines: Sequence[Headline]
) -> list[MeasureLine]:
    """The chosen numbers of a run, each a value or an unknown with its reason."""
    lines = []
    for headline in headlines:
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
