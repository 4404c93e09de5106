"""Every watched metric of every scheduled run gets an answer; a suspicion gets the fresh starts it asks for.

Rows are only added: a suspicion that was resolved has a later row, and the last one counts. Safe to call at
every tick; what has its answer is not looked at again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from assay.analysis.regression import numeric
from assay.analysis.regression.answers import Answer, Better
from assay.analysis.regression.check import Check, Watched, check
from assay.analysis.regression.series import Segment, Start, segments
from assay.archive.paths import Home
from assay.ledger.models import Run
from assay.regressions import baselines, findings, fresh_starts, numeric_outputs
from assay.regressions.earlier import Level, settled
from assay.regressions.fresh_starts import Rerun
from assay.regressions.models import Against, CheckRecord, Firing, FiringState, Schedule, Watch
from assay.regressions.reading import metric_name, start_of
from experiments.errors import Refusal
from runners.protocol.events import LIVE_STATES, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One run of a firing among the earlier runs of its place in the study."""

    firing: Firing
    run: Run
    starts: list[Start]  # of this place, oldest first; the last one is the run's

    @property
    def segment(self) -> Segment:
        return segments(self.starts)[-1]


def look(schedule: Schedule, home: Home, rerun: Rerun) -> list[CheckRecord]:
    """The rows that this look added, oldest firing first. What has its last word costs no query."""
    added: list[CheckRecord] = []
    watches = list(schedule.watches.all())
    said = list(CheckRecord.objects.filter(watch__schedule=schedule).order_by("pk"))
    last = {(row.watch_id, row.run_id): row for row in said}  # the newest row wins
    answered = {row.firing_id for row in said}
    ended = _ended_runs(schedule)
    under_way: set[Level] = set()  # what an earlier run is suspected of
    for firing in schedule.firings.exclude(state=FiringState.waiting).order_by("slot"):
        if firing.state != FiringState.submitted and firing.pk not in answered:
            added += _without_a_run(firing, watches)
        for run in ended.get(firing.study_id, ()):
            open_ = [w for w in watches if _is_open(last.get((w.pk, run)))]
            if open_:
                judged = _judged(schedule, firing, run, home)
                rows = _answers(judged, open_, under_way, home, rerun)
                added += rows
                last |= {(row.watch_id, row.run_id): row for row in rows}
                own = [row for w in open_ if (row := last.get((w.pk, run))) is not None]
                under_way |= {(r.watch_id, r.baseline_id) for r in own if _is_open(r)}
    return added


def _is_open(last: CheckRecord | None) -> bool:
    return last is None or last.answer == Answer.suspected


def _ended_runs(schedule: Schedule) -> dict[UUID | None, list[UUID]]:
    """Ids of the runs that ended, by study, in their recorded order."""
    runs = Run.objects.filter(study__firings__schedule=schedule).exclude(state__in=LIVE_STATES)
    found: dict[UUID | None, list[UUID]] = {}
    for study, run in runs.order_by("position", "repetition").values_list("study_id", "pk"):
        found.setdefault(study, []).append(run)
    return found


def _without_a_run(firing: Firing, watches: Sequence[Watch]) -> list[CheckRecord]:
    """A slot that was missed or refused is no silence: each of its metrics is missing."""
    found = [
        CheckRecord(
            watch=w, firing=firing, answer=Answer.missing, reason=firing.note or firing.state
        )
        for w in watches
    ]
    return CheckRecord.objects.bulk_create(found)


def _judged(schedule: Schedule, firing: Firing, run_id: UUID, home: Home) -> Judged:
    run = Run.objects.get(pk=run_id)
    return Judged(firing=firing, run=run, starts=_starts(schedule, firing, run, home))


def newest_segments(schedule: Schedule, home: Home) -> list[Segment]:
    """The segment that each place of the study is in now, by its newest run that ended with a result."""
    found: dict[tuple[int, int], Segment] = {}
    for firing in schedule.firings.filter(state=FiringState.submitted).order_by("-slot"):
        for run in Run.objects.filter(study=firing.study_id).order_by("position", "repetition"):
            place = (run.position, run.repetition)
            if place not in found and run.state == RunState.sealed:
                found[place] = _judged(schedule, firing, run.pk, home).segment
        if found:
            break
    return list(found.values())


def _starts(schedule: Schedule, firing: Firing, run: Run, home: Home) -> list[Start]:
    earlier = Run.objects.filter(
        study__firings__schedule=schedule,
        study__firings__slot__lt=firing.slot,
        position=run.position,
        repetition=run.repetition,
    ).exclude(state__in=LIVE_STATES)
    ordered = [*earlier.order_by("study__firings__slot"), run]
    variable = schedule.variable or None
    found = [start_of(r, home, variable=variable) for r in ordered]
    # a run without a result has no identity: it interrupts no segment, but it may be the one to judge
    return [s for s in found[:-1] if s.ended] + found[-1:]


def _answers(
    judged: Judged,
    watches: Sequence[Watch],
    under_way: Collection[Level],
    home: Home,
    rerun: Rerun,
) -> list[CheckRecord]:
    if fresh_starts.are_running(judged.run):
        return []
    measured = [w for w in watches if w.rule != numeric.RULE]
    alone = [(watch, *_check(judged, watch, home)) for watch in measured]
    looked = [(watch, settled(watch, c, seen, under_way), seen) for watch, c, seen in alone]
    refused = _ask(judged, looked, rerun)
    added = [_record(judged, watch, found, seen, refused) for watch, found, seen in looked]
    rows = [row for row in added if row is not None]
    against = next((row.baseline for row in rows if row.baseline is not None), None)
    if against is not None:
        findings.open_for(judged.run, judged.firing.schedule, rows, before=against.last_run)
    return rows + [_numeric(judged, w, home) for w in watches if w.rule == numeric.RULE]


def _ask(
    judged: Judged, looked: Sequence[tuple[Watch, Check, baselines.Known | None]], rerun: Rerun
) -> str:
    """Queue the fresh starts that the open suspicions ask for; why that is refused, or an empty text."""
    wanted = {
        c.step.ask for _, c, _ in looked if c.step is not None and c.answer is Answer.suspected
    }
    against = next((k for _, c, k in looked if k is not None and c.suspicion is not None), None)
    if against is None:
        return ""
    try:
        fresh_starts.ask(judged.run, against.record.last_run, wanted, rerun)
    except Refusal as refusal:  # a version that is not installed any more, for instance
        return f"; a fresh start was refused: {refusal}"
    return ""


def _numeric(judged: Judged, watch: Watch, home: Home) -> CheckRecord:
    """Equal token ids or a finding: no spread and no fresh start has a say."""
    found = numeric_outputs.look(judged.run, judged.segment, judged.starts[-1], home)
    row = CheckRecord.objects.create(
        watch=watch,
        firing=judged.firing,
        run=judged.run,
        answer=found.answer,
        reason=found.reason,
    )
    if found.reference is not None:
        findings.open_for(judged.run, judged.firing.schedule, [row], before=found.reference)
    return row


def _check(judged: Judged, watch: Watch, home: Home) -> tuple[Check, baselines.Known | None]:
    segment, newest = judged.segment, judged.starts[-1]
    comparable = segment.starts if newest.ended else ()
    against = Against(judged.firing.schedule.against)
    seen = baselines.known(watch, comparable, against)
    cut = segment.why if newest.ended and len(segment.starts) == 1 else ()
    values = fresh_starts.values(
        judged.run, metric_name(watch), home, seen.record if seen is not None else None
    )
    found = check(
        Watched(metric=metric_name(watch), better=Better(watch.better)),
        newest,
        baseline=seen.baseline if seen is not None else None,
        since=seen.since if seen is not None else [],
        differences=cut,
        fresh=values,
        lacking=baselines.lacking(against),
    )
    return found, seen


def _record(
    judged: Judged, watch: Watch, found: Check, seen: baselines.Known | None, refused: str
) -> CheckRecord | None:
    """The row of an answer; none where it would only repeat that the suspicion is open."""
    last = watch.checks.filter(run=judged.run).order_by("-pk").first()
    if last is not None and last.answer == found.answer:
        return None
    value = judged.starts[-1].values.get(metric_name(watch))
    level = seen.baseline.level if seen is not None else None
    shown = found.confirmation if found.answer in (Answer.confirmed, Answer.improved) else None
    plain = (value - level) / abs(level) if value is not None and level is not None else None
    return CheckRecord.objects.create(
        watch=watch,
        firing=judged.firing,
        run=judged.run,
        answer=found.answer,
        reason=found.reason + (refused if found.answer is Answer.suspected else ""),
        value=value,
        change=shown.change if shown is not None else plain,
        baseline=seen.record if seen is not None else None,
    )
