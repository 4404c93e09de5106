"""Bisect a finding over the installed versions of its engine: asked by a person, carried on at every tick.

Each version is put to fresh starts of the schedule's declaration with that version's pin. One that cannot be
started, or gives no number, is left out and named.
"""

from collections.abc import Callable, Sequence

from django.db import transaction

from assay.analysis.regression.bisect import BisectStep, Levels, next_step
from assay.archive.installed_engines import InstalledVersion
from assay.archive.paths import Home
from assay.ledger.models import Study
from assay.regressions.models import Bisection, BisectionStart, CheckRecord, Finding
from assay.regressions.reading import start_of
from experiments.changes.catalogue import parsed
from experiments.errors import Refusal, refuse
from runners.protocol.events import LIVE_STATES

MOST_FAILED = 3  # starts of one version without a number

StartVersion = Callable[[Bisection, str], Study]  # a fresh start of one version; raises Refusal


@transaction.atomic
def ask(finding: Finding, installed: Sequence[InstalledVersion], *, by: str) -> Bisection:
    """Raises Refusal where the version did not change, or no installed one lies between."""
    running = finding.bisections.filter(state="running").first()
    if running is not None:
        return running
    row = _confirmed(finding)
    assert row.baseline is not None
    assert row.change is not None
    older, newer = row.baseline.last_run.engine_version, finding.run.engine_version
    between = _between(older, newer, installed)
    return Bisection.objects.create(
        finding=finding,
        metric=f"{row.watch.rule} {row.watch.statistic}",
        versions=[older, *(i.version for i in between), newer],
        overrides={i.version: list(i.overrides) for i in between},
        old_level=row.baseline.level,
        new_level=row.baseline.level * (1 + row.change),
        asked_by=by,
    )


def look(bisection: Bisection, home: Home, start: StartVersion) -> BisectStep | None:
    """Ask for the next fresh start, or write the answer down. None while one is running, and at the end."""
    if bisection.state != "running" or _is_running(bisection):
        return None
    values, out = _values(bisection, home)
    levels = Levels(old=bisection.old_level, new=bisection.new_level)
    step = next_step(bisection.versions, levels, values, out=out)
    if step.ask is None:
        _answer(bisection, step, out)
    else:
        _start(bisection, step.ask, start)
    return step


def _confirmed(finding: Finding) -> CheckRecord:
    found = finding.checks.filter(baseline__isnull=False, change__isnull=False)
    row = found.select_related("watch", "baseline__last_run").order_by("pk").first()
    if row is None:
        raise refuse(
            field="finding",
            seen="no metric with a level before and after",
            allowed="a finding of a measured metric",
            remedy="A difference of token ids is not bisected: repeat the runs with assay repeat.",
        )
    return row


def _between(
    older: str, newer: str, installed: Sequence[InstalledVersion]
) -> list[InstalledVersion]:
    low, high = parsed(older), parsed(newer)
    if low >= high:
        raise refuse(
            field="finding.versions",
            seen=f"{older} and {newer}",
            allowed="a newer engine version than the baseline's",
            remedy="What did not change its version has nothing to bisect: see what is different.",
        )
    by_version = {i.version: i for i in installed if low < parsed(i.version) < high}
    if not by_version:
        raise refuse(
            field="engine.versions",
            seen=f"none installed between {older} and {newer}",
            allowed="at least one installed version between the two",
            remedy="Install some: assay engines install KEY==VERSION",
        )
    return [by_version[v] for v in sorted(by_version, key=parsed)]


def _is_running(bisection: Bisection) -> bool:
    runs = bisection.starts.filter(study__runs__state__in=LIVE_STATES)
    return runs.exists()


def _values(bisection: Bisection, home: Home) -> tuple[dict[str, list[float]], frozenset[str]]:
    """Values by version, and the versions of which no more is to be expected."""
    values: dict[str, list[float]] = {}
    failed: dict[str, int] = {}
    for start in bisection.starts.select_related("study").order_by("number"):
        value = _value(start, bisection.metric, home)
        if value is not None:
            values.setdefault(start.version, []).append(value)
        else:  # what was refused once will be refused again
            failed[start.version] = failed.get(start.version, 0) + (
                MOST_FAILED if start.note else 1
            )
    return values, frozenset(v for v, times in failed.items() if times >= MOST_FAILED)


def _value(start: BisectionStart, metric: str, home: Home) -> float | None:
    run = start.study.runs.first() if start.study is not None else None
    if run is None:
        return None
    found = start_of(run, home, variable=None)
    usable = found.ended and not found.invalid and not found.client_limited
    return found.values.get(metric) if usable else None


def _start(bisection: Bisection, version: str, start: StartVersion) -> None:
    number = bisection.starts.filter(version=version).count()
    try:
        study, note = start(bisection, version), ""
    except Refusal as refusal:
        study, note = None, str(refusal)
    BisectionStart.objects.create(
        bisection=bisection, version=version, number=number, study=study, note=note
    )


def _answer(bisection: Bisection, step: BisectStep, out: frozenset[str]) -> None:
    left = [f"{v} (could not be run)" if v in out else f"{v} (no clear side)" for v in step.unclear]
    reason = f"between them without an answer: {', '.join(left)}" if left else ""
    Bisection.objects.filter(pk=bisection.pk, state="running").update(
        state="unclear" if left else "found",
        answer={"last_good": step.last_good, "first_bad": step.first_bad, "reason": reason},
    )
    bisection.refresh_from_db()
