"""The runs that a suspicion asks for, and what they gave. One set a suspect run serves all its metrics.

A pair is the declaration of the baseline's last run (A) and the suspect's own (B). Where the two are the same
declaration there is no environment to go back to: the baseline's own starts, newest first, stand for A, and
only B is started.
"""

from collections.abc import Callable, Collection

from assay.analysis.regression.confirmation import Side, order
from assay.analysis.regression.investigation import Ask, Fresh
from assay.archive.paths import Home
from assay.ledger.models import Run, Study
from assay.regressions.models import BaselineRecord, FreshStart
from assay.regressions.reading import start_of
from runners.protocol.events import LIVE_STATES

Rerun = Callable[[Run], Study]  # the same declaration again, queued
REPEAT = "repeat"


def are_running(suspect: Run) -> bool:
    return Run.objects.filter(
        study__in=suspect.fresh_starts.values("study"), state__in=LIVE_STATES
    ).exists()


def ask(suspect: Run, baseline: Run, wanted: Collection[Ask], rerun: Rerun) -> list[FreshStart]:
    """Queue the next start or pair; the order of a pair turns from one to the next (A B, B A, ...)."""
    if Ask.repeat in wanted:
        return [_start(suspect, REPEAT, rerun(suspect))]
    if Ask.pair not in wanted:
        return []
    if baseline.spec_digest == suspect.spec_digest:
        return [_start(suspect, Side.new, rerun(suspect))]
    number = suspect.fresh_starts.filter(side=Side.new).count()
    runs = {Side.baseline: baseline, Side.new: suspect}
    next_pair = list(order(number + 1))[-2:]
    return [_start(suspect, side, rerun(runs[side])) for side in next_pair]


def values(suspect: Run, metric: str, home: Home, record: BaselineRecord | None) -> Fresh:
    """What the fresh starts gave so far. One that failed, or lacks the metric, is left out with its pair."""
    new = _values(suspect, Side.new, metric, home)
    old = _values(suspect, Side.baseline, metric, home)
    if new and not old and record is not None:
        runs = Run.objects.in_bulk(record.runs)
        known = [start_of(r, home, variable=None) for r in runs.values()]
        ordered = sorted(known, key=lambda s: record.runs.index(s.run), reverse=True)
        old = dict(enumerate(s.values.get(metric) for s in ordered))
    repeats = _values(suspect, REPEAT, metric, home).values()
    return Fresh(
        repeats=tuple(v for v in repeats if v is not None),
        pairs=tuple(
            (a, b)
            for number, b in sorted(new.items())
            if b is not None and (a := old.get(number)) is not None
        ),
    )


def _values(suspect: Run, side: str, metric: str, home: Home) -> dict[int, float | None]:
    found: dict[int, float | None] = {}
    for fresh in suspect.fresh_starts.filter(side=side).order_by("number"):
        run = fresh.study.runs.first()
        if run is not None and run.state not in LIVE_STATES:
            start = start_of(run, home, variable=None)
            usable = start.ended and not start.invalid and not start.client_limited
            found[fresh.number] = start.values.get(metric) if usable else None
    return found


def _start(suspect: Run, side: str, study: Study) -> FreshStart:
    return FreshStart.objects.create(
        suspect=suspect,
        study=study,
        side=side,
        number=suspect.fresh_starts.filter(side=side).count(),
    )
