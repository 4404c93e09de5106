"""Which level a watched metric is measured against: frozen, until somebody accepts another."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from assay.analysis.regression.baseline import (
    FEWEST_STARTS,
    Baseline,
    TooFewStarts,
    accepted,
    baseline_of,
)
from assay.analysis.regression.series import Start
from assay.ledger.models import Run
from assay.regressions.models import BaselineKind, BaselineRecord, Watch
from assay.regressions.reading import metric_name, segment_digest
from experiments.errors import refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A baseline with its row, and the values of the starts after it."""

    record: BaselineRecord
    baseline: Baseline
    since: list[float]


def known(watch: Watch, starts: Sequence[Start]) -> Known | None:
    """``starts`` are one segment, oldest first. The first twelve make a baseline where there is none yet."""
    usable = [s for s in starts if counts(s, watch)]
    record = newest(watch, segment_digest(starts[-1])) if starts else None
    if record is None:
        if len(usable) < FEWEST_STARTS + 1:  # the newest is to be judged, not to judge
            return None
        try:
            record = _first(watch, usable[:FEWEST_STARTS])
        except TooFewStarts:  # a level of 0
            return None
    places = [s.run for s in usable]
    last = str(record.last_run_id)
    after = usable[places.index(last) + 1 :] if last in places else usable
    return Known(
        record=record,
        baseline=Baseline(level=record.level, scale=record.scale, starts=record.starts),
        since=[value for s in after if (value := s.values[metric_name(watch)]) is not None],
    )


def counts(start: Start, watch: Watch) -> bool:
    """Whether a start says anything of the metric: it ended, undisturbed, and has the number."""
    return (
        start.ended
        and not start.invalid
        and not start.client_limited
        and start.values.get(metric_name(watch)) is not None
    )


def newest(watch: Watch, segment: str) -> BaselineRecord | None:
    return watch.baselines.filter(segment=segment).order_by("-created_at", "-pk").first()


def pin(watch: Watch, starts: Sequence[Start], *, by: str, reason: str) -> BaselineRecord:
    """Twelve or more named starts of one segment. Raises Refusal or TooFewStarts."""
    if len({segment_digest(s) for s in starts}) != 1:
        raise refuse(
            field="baseline.runs",
            seen=f"{len(starts)} runs that differ in what they are",
            allowed="runs of one segment",
            remedy="See the segments on the schedule's page.",
        )
    return _write(
        watch, starts, baseline_of(_values(watch, starts)), BaselineKind.pinned, by, reason
    )


def accept(watch: Watch, starts: Sequence[Start], *, by: str, reason: str) -> BaselineRecord:
    """A new level, from its starts; the relative spread of the baseline before carries over.

    Raises Refusal where there is none, or no reason.
    """
    segment = segment_digest(starts[-1])
    before = newest(watch, segment) or watch.baselines.order_by("-created_at", "-pk").first()
    if before is None or not reason.strip():
        raise refuse(
            field="baseline.reason" if before else "baseline",
            seen="empty" if before else "no baseline yet",
            allowed="why the new level is right" if before else "a level to take over from",
            remedy="Say why." if before else f"Wait for {FEWEST_STARTS} starts.",
        )
    former = Baseline(level=before.level, scale=before.scale, starts=before.starts)
    level = accepted(former, _values(watch, starts))
    return _write(watch, starts, level, BaselineKind.accepted, by, reason)


def _first(watch: Watch, starts: Sequence[Start]) -> BaselineRecord:
    return _write(watch, starts, baseline_of(_values(watch, starts)), BaselineKind.first, "", "")


def _values(watch: Watch, starts: Sequence[Start]) -> list[float]:
    found = [s.values.get(metric_name(watch)) for s in starts]
    return [value for value in found if value is not None]


def _write(
    watch: Watch,
    starts: Sequence[Start],
    baseline: Baseline,
    kind: BaselineKind,
    by: str,
    reason: str,
) -> BaselineRecord:
    return BaselineRecord.objects.create(
        watch=watch,
        segment=segment_digest(starts[-1]),
        kind=kind,
        level=baseline.level,
        scale=baseline.scale,
        starts=baseline.starts,
        runs=[s.run for s in starts],
        last_run=Run.objects.get(pk=UUID(starts[-1].run)),
        accepted_by=by,
        reason=reason,
    )
