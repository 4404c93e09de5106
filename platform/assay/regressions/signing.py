"""Who signs for a level: approve the newest baseline of every metric as it stands, or name its starts."""

from collections.abc import Callable, Sequence

from django.db import transaction

from assay.analysis.errors import AnalysisError
from assay.analysis.regression.series import Start
from assay.archive.paths import Home
from assay.regressions import baselines
from assay.regressions.checking import newest_segments
from assay.regressions.models import BaselineRecord, Schedule, Watch
from experiments.errors import Finding as Problem
from experiments.errors import Refusal, refuse

Write = Callable[[Watch, Sequence[Start]], BaselineRecord]


def approve(schedule: Schedule, home: Home, *, by: str, reason: str) -> list[BaselineRecord]:
    """Raises Refusal without a reason, and below twelve starts."""
    return _each(
        schedule, home, lambda watch, starts: baselines.approve(watch, starts, by=by, reason=reason)
    )


def pin(
    schedule: Schedule, home: Home, *, newest: int, by: str, reason: str
) -> list[BaselineRecord]:
    """The newest so many starts of the segment. Raises Refusal without a reason, and below twelve starts."""
    return _each(
        schedule,
        home,
        lambda watch, starts: baselines.pin(watch, starts[-newest:], by=by, reason=reason),
    )


@transaction.atomic
def _each(schedule: Schedule, home: Home, write: Write) -> list[BaselineRecord]:
    segments = newest_segments(schedule, home)
    if not segments:
        raise refuse(
            field="schedule",
            seen="no run that ended with a result",
            allowed="twelve fresh starts",
            remedy=f"Make them: assay regress {schedule.name} --starts 12",
        )
    signed = []
    try:
        for segment in segments:
            for watch in schedule.watches.exclude(better="").order_by("pk"):
                usable = [s for s in segment.starts if baselines.counts(s, watch)]
                signed.append(write(watch, usable))
    except AnalysisError as error:
        f = error.finding
        raise Refusal(
            [Problem(field=f.field, seen=f.seen, allowed=f.allowed, remedy=f.remedy)]
        ) from error
    return signed
