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
from assay.regressions.models import Against, BaselineKind, BaselineRecord, Watch
from assay.regressions.reading import metric_name, segment_digest
from experiments.errors import refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A baseline with its row, and the values of the starts after it."""

    record: BaselineRecord
    baseline: Baseline
    since: list[float]


def known(watch: Watch, starts: Sequence[Start], against: Against = Against.newest) -> Known | None:
    """``starts`` are one segment, oldest first. The first twelve make a baseline where there is none yet."""
    usable = [s for s in starts if counts(s, watch)]
    if not usable:
        return None
    try:  # the newest start is to be judged, not to judge
        record = _record(watch, usable[:-1], against, segment=segment_digest(usable[-1]))
    except TooFewStarts:
        return None
    if record is None:
        return None
    places = [s.run for s in usable]
    last = str(record.last_run_id)
    after = usable[places.index(last) + 1 :] if last in places else usable
    after = after or usable[-1:]  # its own level was accepted while it was looked at
    return Known(
        record=record,
        baseline=Baseline(level=record.level, scale=record.scale, starts=record.starts),
        since=[value for s in after if (value := s.values[metric_name(watch)]) is not None],
    )


def lacking(against: Against) -> str:
    """Why there is no baseline of this kind, in words."""
    if against is Against.approved:
        return (
            "nobody approved a baseline of this segment: assay schedule approve NAME --reason WHY"
        )
    if against is Against.pinned:
        return "nobody named the starts of a baseline: assay schedule pin NAME --reason WHY"
    return f"fewer than {FEWEST_STARTS} fresh starts make no baseline"


def _record(
    watch: Watch, before: Sequence[Start], against: Against, *, segment: str
) -> BaselineRecord | None:
    """Raises TooFewStarts where the starts before do not make one yet, or for a level of 0."""
    if against is Against.rolling:
        return _rolling(watch, before[-FEWEST_STARTS:])
    if against is Against.approved:
        return signed(watch, segment)
    if against is Against.pinned:
        rows = watch.baselines.filter(segment=segment, kind=BaselineKind.pinned)
        return rows.order_by("-created_at", "-pk").first()
    return newest(watch, segment) or _first(watch, before[:FEWEST_STARTS])


def counts(start: Start, watch: Watch) -> bool:
    """Whether a start says anything of the metric: it ended, undisturbed, and has the number."""
    return (
        start.ended
        and not start.invalid
        and not start.client_limited
        and start.values.get(metric_name(watch)) is not None
    )


def newest(watch: Watch, segment: str) -> BaselineRecord | None:
    rows = watch.baselines.filter(segment=segment).exclude(kind=BaselineKind.rolling)
    return rows.order_by("-created_at", "-pk").first()


def signed(watch: Watch, segment: str) -> BaselineRecord | None:
    """The newest that somebody signed: approved, accepted or pinned."""
    rows = watch.baselines.filter(segment=segment).exclude(accepted_by="")
    return rows.order_by("-created_at", "-pk").first()


def approve(watch: Watch, starts: Sequence[Start], *, by: str, reason: str) -> BaselineRecord:
    """Sign the segment's newest baseline as it stands; its first twelve starts where there is none yet.

    Raises Refusal without a reason, TooFewStarts below twelve starts.
    """
    _check_reason(reason)
    usable = [s for s in starts if counts(s, watch)]
    record = newest(watch, segment_digest(usable[-1])) if usable else None
    if record is None:
        record = _first(watch, usable[:FEWEST_STARTS])
    return BaselineRecord.objects.create(
        watch=watch,
        segment=record.segment,
        kind=BaselineKind.approved,
        level=record.level,
        scale=record.scale,
        starts=record.starts,
        runs=record.runs,
        last_run_id=record.last_run_id,
        accepted_by=by,
        reason=reason,
    )


def pin(watch: Watch, starts: Sequence[Start], *, by: str, reason: str) -> BaselineRecord:
    """Twelve or more named starts of one segment. Raises Refusal, or TooFewStarts."""
    _check_reason(reason)
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


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise refuse(
            field="baseline.reason",
            seen="empty",
            allowed="why this level is right",
            remedy="Say why: it is what later drift is measured against.",
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


def _rolling(watch: Watch, starts: Sequence[Start]) -> BaselineRecord:
    found = baseline_of(_values(watch, starts))
    runs = [s.run for s in starts]
    rows = watch.baselines.filter(kind=BaselineKind.rolling, last_run=UUID(runs[-1]))
    known_row = next((row for row in rows if row.runs == runs), None)
    return known_row or _write(watch, starts, found, BaselineKind.rolling, "", "")


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
