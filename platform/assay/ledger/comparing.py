"""Runs of the index as a comparison reads them. A fixed number of queries, whatever the number of runs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.conf import settings

from assay.analysis.comparability.record import Number, Residual, RunRecord
from assay.archive import compared
from assay.archive.paths import Home
from assay.archive.remote.fetching import bundle_folder
from assay.ledger.models import Bundle, Interpretation, Measure, MeasureKind, Run
from assay.ledger.models import Residual as ResidualRow
from assay.ledger.shown import shown_bundles

_NON_FINITE = "not finite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """``readings`` are the derived folders of those runs that were read, by run id."""

    records: list[RunRecord]
    readings: Mapping[str, Path]


def gathered(runs: Sequence[Run]) -> Gathered:
    """In the order given, with numbers of one definition version where every run was read by it."""
    bundles = shown_bundles(runs)
    readings = _readings(bundles.values())
    version = _common_version([readings.get(b.digest, ()) for b in bundles.values()])
    chosen = {
        run_id: found
        for run_id, bundle in bundles.items()
        if (found := _chosen(readings.get(bundle.digest, ()), version)) is not None
    }
    numbers = _numbers(chosen.values())
    residuals = _residuals(chosen.values())
    return Gathered(
        records=[
            _record(run, bundles.get(run.pk), readings, chosen.get(run.pk), numbers, residuals)
            for run in runs
        ],
        readings={str(run_id): _folder(reading) for run_id, reading in chosen.items()},
    )


def records(runs: Sequence[Run]) -> list[RunRecord]:
    return gathered(runs).records


def _folder(reading: Interpretation) -> Path:
    return _home().derived / reading.bundle_id / reading.definition_version


def _home() -> Home:
    return Home(Path(settings.HOME))


def _readings(bundles: Iterable[Bundle]) -> Mapping[str, list[Interpretation]]:
    """Of each bundle, the newest first."""
    found: dict[str, list[Interpretation]] = defaultdict(list)
    digests = [bundle.digest for bundle in bundles]
    for reading in Interpretation.objects.filter(bundle__in=digests).order_by("-created_at", "-pk"):
        found[reading.bundle_id].append(reading)
    return found


def _common_version(readings: Sequence[Sequence[Interpretation]]) -> str | None:
    """The newest definition version that every bundle was read by; null where there is none."""
    if not readings:
        return None
    named = [[reading.definition_version for reading in own] for own in readings]
    return next((v for v in named[0] if all(v in own for own in named)), None)


def _chosen(own: Sequence[Interpretation], version: str | None) -> Interpretation | None:
    return next((r for r in own if r.definition_version == version), own[0] if own else None)


def _numbers(readings: Iterable[Interpretation]) -> Mapping[int, list[Number]]:
    found: dict[int, list[Number]] = defaultdict(list)
    wanted = Measure.objects.filter(interpretation__in=[r.pk for r in readings]).order_by("pk")
    for row in wanted:
        found[row.interpretation_id].append(_number(row))
    return found


def _number(row: Measure) -> Number:
    is_finite = row.kind == MeasureKind.finite
    return Number(
        rule=row.rule,
        statistic=row.statistic,
        unit=row.unit,
        population=row.population,
        perspective=row.perspective,
        limited_by=row.limited_by,
        value=row.value if is_finite else None,
        n=row.n,
        of=row.of,
        low=row.low,
        high=row.high,
        interval_kind=row.interval_kind,
        absent="" if is_finite else row.absent or f"{_NON_FINITE}: {row.kind}",
    )


def _residuals(readings: Iterable[Interpretation]) -> Mapping[int, list[Residual]]:
    found: dict[int, list[Residual]] = defaultdict(list)
    wanted = ResidualRow.objects.filter(interpretation__in=[r.pk for r in readings])
    for row in wanted.order_by("pk"):
        found[row.interpretation_id].append(
            Residual(
                quantity=row.quantity,
                conditions=row.conditions,
                unit=row.unit,
                predicted=row.predicted,
                measured=row.measured,
                relative=row.relative,
                validity=row.validity,
                klass=row.klass,
                reason=row.reason,
            )
        )
    return found


def _record(
    run: Run,
    bundle: Bundle | None,
    readings: Mapping[str, Sequence[Interpretation]],
    chosen: Interpretation | None,
    numbers: Mapping[int, Sequence[Number]],
    residuals: Mapping[int, Sequence[Residual]],
) -> RunRecord:
    home = _home()
    record = RunRecord(
        run=str(run.pk),
        name=run_name(run),
        state=run.state,
        spec=run.spec,
        variables=frozenset(run.variables),
        no_reading=_why_none(bundle, chosen),
    )
    if bundle is None:
        return record
    own = readings.get(bundle.digest, ())
    record = replace(
        record,
        observed=compared.observed(bundle_folder(home, bundle.digest)),
        definition_versions=tuple(reading.definition_version for reading in own),
    )
    if chosen is None:
        return record
    folder = _folder(chosen)
    letter, reasons = compared.grade(folder)
    return replace(
        record,
        grade=letter,
        grade_reasons=reasons,
        definition_version=chosen.definition_version,
        population=compared.population(folder, run.spec),
        numbers=tuple(numbers.get(chosen.pk, ())),
        residuals=tuple(residuals.get(chosen.pk, ())),
    )


def run_name(run: Run) -> str:
    """What people call a run: its study, its place in it and its repetition."""
    repetition = f"·{run.repetition}" if run.repetition else ""
    return f"{run.study.name} #{run.position}{repetition}"


def _why_none(bundle: Bundle | None, chosen: Interpretation | None) -> str:
    if bundle is None:
        return "no bundle was sealed"
    return "" if chosen is not None else "its bundle waits to be read"
