"""A comparison as JSON: what ``assay compare --json`` prints and the API serves. Names are stable."""

from typing import Any, TypedDict

from assay.analysis.comparability.between_starts import Difference
from assay.analysis.comparability.comparison import Comparison, FieldRow, Pair
from assay.analysis.comparability.numbers import MetricRow, SideValue
from assay.analysis.comparability.populations import Lengths, lengths, pooled
from assay.analysis.comparability.record import Population
from assay.analysis.comparability.residual_rows import ResidualRow, SideResidual
from assay.analysis.comparability.sides import Side
from assay.analysis.comparability.wording import spread_words, verdict

FORMAT = 1


class RefusalDocument(TypedDict):
    field: str
    seen: str
    allowed: str
    remedy: str


class ComparisonDocument(TypedDict):
    """Whatever is of a side is keyed by its letter; the first side is the reference of every difference."""

    format: int
    definition_version: str | None
    standing: str
    verdict: str
    starts: str
    refusals: list[RefusalDocument]
    sides: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    fields: list[dict[str, Any]]
    populations: dict[str, dict[str, Any] | None]
    population_notes: list[str]
    measuring_notes: list[str]
    not_covered: list[str]
    metrics: list[dict[str, Any]]
    residuals: list[dict[str, Any]]


def comparison_document(comparison: Comparison) -> ComparisonDocument:
    letters = [side.letter for side in comparison.sides]
    return ComparisonDocument(
        format=FORMAT,
        definition_version=comparison.definition_version,
        standing=comparison.standing.value,
        verdict=verdict(comparison),
        starts=spread_words(comparison),
        refusals=[
            RefusalDocument(field=f.field, seen=f.seen, allowed=f.allowed, remedy=f.remedy)
            for f in comparison.refusals
        ],
        sides=[_side(side) for side in comparison.sides],
        pairs=[_pair(letters[0], pair) for pair in comparison.pairs],
        fields=[_field(row, letters) for row in comparison.fields],
        populations={side.letter: population_document(pooled(side)) for side in comparison.sides},
        population_notes=list(comparison.population_notes),
        measuring_notes=list(comparison.measuring_notes),
        not_covered=list(comparison.not_covered),
        metrics=[_metric(row, letters) for row in comparison.metrics],
        residuals=[_residual(row, letters) for row in comparison.residuals],
    )


def _side(side: Side) -> dict[str, Any]:
    return {
        "letter": side.letter,
        "name": side.name,
        "spec_digest": side.digest,
        "fresh_starts": side.starts,
        "runs": [{"run": run.run, "name": run.name, "state": run.state} for run in side.runs],
    }


def _pair(reference: str, pair: Pair) -> dict[str, Any]:
    return {
        "reference": reference,
        "other": pair.letter,
        "standing": pair.standing.value,
        "attributed_to": pair.attributed_to or None,
        "because": list(pair.because),
        "conditions": list(pair.conditions),
    }


def _field(row: FieldRow, letters: list[str]) -> dict[str, Any]:
    return {
        "path": row.path,
        "verdict": row.verdict.value,
        "values": dict(zip(letters, row.values, strict=True)),
        "verdicts": {k: v.value for k, v in zip(letters[1:], row.verdicts, strict=True)},
        "notes": list(row.notes),
        "follows": row.follows or None,
    }


def population_document(population: Population | None) -> dict[str, Any] | None:
    if population is None:
        return None
    done = population.completed
    return {
        "group": population.group,
        "offered": population.offered,
        "states": dict(sorted(population.states.items())),
        "input_tokens": _lengths(lengths(population.input_lengths, of=done)),
        "output_tokens": _lengths(lengths(population.output_lengths, of=done)),
        "cached_share": population.cached_share,
        "at_cap": dict(sorted(population.at_cap.items())),
    }


def _lengths(found: Lengths | None) -> dict[str, int] | None:
    if found is None:
        return None
    return {
        "low": found.low,
        "median": found.median,
        "high": found.high,
        "n": found.n,
        "of": found.of,
    }


def _metric(row: MetricRow, letters: list[str]) -> dict[str, Any]:
    others = letters[1:]
    return {
        "rule": row.rule,
        "statistic": row.statistic,
        "unit": row.unit,
        "population": row.population,
        "perspective": row.perspective,
        "limited_by": row.limited_by,
        "values": {k: _value(v) for k, v in zip(letters, row.values, strict=True)},
        "differences": {
            k: _difference(d) if d is not None else None
            for k, d in zip(others, row.differences, strict=True)
        },
        "refused": {k: why or None for k, why in zip(others, row.refused, strict=True)},
    }


def _value(value: SideValue) -> dict[str, Any]:
    return {
        "value": value.value,
        "by_run": list(value.values),
        "fresh_starts": value.fresh,
        "interval": None if value.low is None else [value.low, value.high],
        "interval_kind": value.spread or None,
        "n": value.n,
        "of": value.of,
        "absent": value.absent or None,
    }


def _difference(found: Difference) -> dict[str, Any]:
    interval = found.interval
    return {
        "absolute": found.absolute,
        "relative": found.relative,
        "interval": None if interval is None else [interval.low, interval.high],
        "interval_kind": None if interval is None else interval.kind,
        "no_interval": found.no_interval or None,
        "fresh_starts": list(found.starts),
    }


def _residual(row: ResidualRow, letters: list[str]) -> dict[str, Any]:
    return {
        "quantity": row.quantity,
        "conditions": dict(row.conditions),
        "unit": row.unit,
        "values": {
            k: _side_residual(v) if v is not None else None
            for k, v in zip(letters, row.values, strict=True)
        },
    }


def _side_residual(value: SideResidual) -> dict[str, Any]:
    return {
        "predicted": value.predicted,
        "measured": value.measured,
        "relative": value.relative,
        "validity": value.validity,
        "class": value.klass or None,
        "runs": value.runs,
        "absent": value.reason or None,
    }
