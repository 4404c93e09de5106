"""The weekly look back: where a watched metric changed its level, and how far it drifted from its reference.

No alarm: by then whoever was woken is awake. It sees what no single start showed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta

from assay.analysis.regression.answers import Answer
from assay.analysis.regression.change_points import ChangePoint, change_points
from assay.analysis.regression.drift import FEWEST_STARTS, Drift, drift
from assay.regressions import baselines
from assay.regressions.models import BaselineRecord, CheckRecord, LookBack, Schedule, Watch
from assay.regressions.queries import answers_of

# Starts whose value says nothing of the metric.
_NO_START = frozenset({Answer.failed, Answer.invalid, Answer.missing, Answer.client_limited})


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrospect:
    """Of the newest segment. ``reason`` says why there is no drift; ``reference`` is what it is against."""

    starts: tuple[CheckRecord, ...]
    points: tuple[ChangePoint, ...]
    reference: BaselineRecord | None
    drift: Drift | None
    reason: str


def retrospect(watch: Watch, rows: Sequence[CheckRecord]) -> Retrospect:
    """``rows`` are the metric's answers, oldest first."""
    counted = tuple(newest_segment(rows))
    values = [row.value for row in counted if row.value is not None]
    reference = _reference(watch, counted)
    since = _since(reference, counted)
    found = drift(reference.level, since) if reference is not None else None
    return Retrospect(
        starts=counted,
        points=tuple(change_points(values)),
        reference=reference,
        drift=found,
        reason="" if found else _why_none(reference, len(since)),
    )


def newest_segment(rows: Sequence[CheckRecord]) -> list[CheckRecord]:
    """Starts with a value that counts, from the last one that began a segment on."""
    begins = [n for n, row in enumerate(rows) if row.answer == Answer.not_comparable]
    kept = rows[begins[-1] :] if begins else rows
    return [row for row in kept if row.value is not None and row.answer not in _NO_START]


def look_back(schedule: Schedule, now: datetime) -> list[LookBack]:
    """The looks of this week that nobody took yet."""
    monday = week_of(now)
    added = []
    for watch in schedule.watches.exclude(better="").exclude(looks_back__week=monday):
        found = retrospect(watch, answers_of(watch))
        if found.starts:
            row, is_new = LookBack.objects.get_or_create(
                watch=watch, week=monday, defaults=_columns(found)
            )
            added += [row] if is_new else []
    return added


def week_of(at: datetime) -> date:
    return at.date() - timedelta(days=at.weekday())


def _columns(found: Retrospect) -> dict[str, object]:
    return {
        "starts": len(found.starts),
        "points": [
            {
                "run": str(found.starts[point.at].run_id),
                "before": point.before,
                "after": point.after,
                "change": point.change,
            }
            for point in found.points
        ],
        "drift": asdict(found.drift) if found.drift is not None else None,
        "reason": found.reason,
    }


def _reference(watch: Watch, counted: Sequence[CheckRecord]) -> BaselineRecord | None:
    held = next((row.baseline for row in reversed(counted) if row.baseline is not None), None)
    if held is not None:
        return baselines.signed(watch, held.segment)
    runs = {str(row.run_id) for row in counted}  # judged before there was a baseline
    found = watch.baselines.exclude(accepted_by="").order_by("-pk").first()
    return found if found is not None and set(found.runs) & runs else None


def _since(reference: BaselineRecord | None, counted: Sequence[CheckRecord]) -> list[float]:
    if reference is None:
        return []
    places = [row.run_id for row in counted]
    after = places.index(reference.last_run_id) + 1 if reference.last_run_id in places else 0
    return [row.value for row in counted[after:] if row.value is not None]


def _why_none(reference: BaselineRecord | None, since: int) -> str:
    if reference is None:
        return "nobody signed a reference: approve the baseline, and drift is measured against it"
    return f"{since} starts since the reference; a trend takes {FEWEST_STARTS}"
