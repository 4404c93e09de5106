"""Two to eight runs compared: first who they are, then over what, then, where that is allowed, by how much.

The first side is the reference; every other one is compared with it. A refusal leaves no difference at all,
a confounder leaves differences that belong to nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.analysis.comparability.coverage import not_covered
from assay.analysis.comparability.fields import (
    NOT_STATED,
    FieldPair,
    IdentityPair,
    identity_pair,
    is_declared,
    worst,
)
from assay.analysis.comparability.measuring import measuring_notes
from assay.analysis.comparability.numbers import MetricRow, metric_rows
from assay.analysis.comparability.populations import caps_reached, pooled, population_notes
from assay.analysis.comparability.record import RunRecord
from assay.analysis.comparability.refusals import pair_refusals, run_refusals
from assay.analysis.comparability.residual_rows import ResidualRow, residual_rows
from assay.analysis.comparability.sides import MOST_RUNS, Side, sides_of
from assay.analysis.errors import BadRecord
from experiments.diff import NOT_DECLARED, Verdict
from experiments.errors import Finding

FEWEST_RUNS = 2


class Standing(StrEnum):
    """What a difference between two sides may be put down to, the least first."""

    refused = "refused"  # there is no difference to speak of
    confounded = "confounded"  # something differs that nobody declared
    joint = "several variables at once"  # to none of them alone
    attributable = "attributable"  # to the one declared variable that moved
    repeated = "nothing differs"  # nothing that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Another side against the first. ``because`` says why, a line for each reason."""

    letter: str
    identity: IdentityPair
    standing: Standing
    attributed_to: str
    because: tuple[str, ...]
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One field over all sides; ``verdicts`` has an entry for each side but the first."""

    path: str
    values: tuple[Any, ...]
    verdict: Verdict
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    follows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``metrics`` and ``residuals`` are empty where the comparison is refused."""

    sides: tuple[Side, ...]
    pairs: tuple[Pair, ...]
    fields: tuple[FieldRow, ...]
    refusals: tuple[Finding, ...]
    population_notes: tuple[str, ...]
    measuring_notes: tuple[str, ...]
    not_covered: tuple[str, ...]
    metrics: tuple[MetricRow, ...]
    residuals: tuple[ResidualRow, ...]

    @property
    def standing(self) -> Standing:
        if self.refusals:
            return Standing.refused
        order = list(Standing)
        return min(
            (pair.standing for pair in self.pairs), key=order.index, default=Standing.repeated
        )

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        return tuple(run for side in self.sides for run in side.runs)

    @property
    def definition_version(self) -> str | None:
        return self.sides[0].first.definition_version


def compare_runs(runs: Sequence[RunRecord]) -> Comparison:
    """Raises BadRecord for fewer than two runs, more than eight, or the same one twice."""
    _check(runs)
    sides = sides_of(runs)
    populations = {side.letter: pooled(side) for side in sides}
    identities = [
        identity_pair(
            sides[0].first,
            side.first,
            caps=caps_reached(populations[sides[0].letter], populations[side.letter]),
        )
        for side in sides[1:]
    ]
    of_pairs = [
        list(pair_refusals(sides[0], side, identity))
        for side, identity in zip(sides[1:], identities, strict=True)
    ]
    refusals = (*run_refusals(runs), *(found for own in of_pairs for found in own))
    return Comparison(
        sides=sides,
        pairs=tuple(
            _pair(side, identity, own)
            for side, identity, own in zip(sides[1:], identities, of_pairs, strict=True)
        ),
        fields=_field_rows(identities),
        refusals=tuple(dict.fromkeys(refusals)),
        population_notes=population_notes(sides),
        measuring_notes=measuring_notes(sides),
        not_covered=not_covered(sides),
        metrics=() if refusals else metric_rows(sides),
        residuals=() if refusals else residual_rows(sides),
    )


def _check(runs: Sequence[RunRecord]) -> None:
    ids = [run.run for run in runs]
    twice = sorted({run for run in ids if ids.count(run) > 1})
    if twice or not FEWEST_RUNS <= len(ids) <= MOST_RUNS:
        raise BadRecord(
            field="runs",
            seen=f"{', '.join(twice)} twice" if twice else f"{len(ids)} runs",
            allowed=f"{FEWEST_RUNS} to {MOST_RUNS} different runs",
            remedy="Name each run once; compare a longer list in parts.",
        )


def _pair(side: Side, identity: IdentityPair, refusals: Sequence[Finding]) -> Pair:
    standing, to, because = _standing(identity, refusals)
    return Pair(
        letter=side.letter,
        identity=identity,
        standing=standing,
        attributed_to=to,
        because=because,
        conditions=tuple(f"{f.path}: {f.note}" for f in identity.with_verdict(Verdict.unknown)),
    )


def _standing(
    identity: IdentityPair, refusals: Sequence[Finding]
) -> tuple[Standing, str, tuple[str, ...]]:
    if refusals:
        return Standing.refused, "", tuple(str(found) for found in refusals)
    declared = identity.declared
    conversion = declared.conversion if declared is not None else None
    if identity.confounders or conversion:
        because = [f"{f.path}: {_words(f)}" for f in identity.confounders]
        return Standing.confounded, "", (*([conversion] if conversion else ()), *because)
    moved = identity.moved
    if not moved:
        return Standing.repeated, "", ()
    if len(moved) == 1:
        return Standing.attributable, moved[0], ()
    groups = {path.split(".")[0] for path in moved}
    if len(groups) == 1:
        whole = f"{groups.pop()} as a whole"
        return Standing.joint, whole, (f"{len(moved)} of its fields moved together",)
    return Standing.joint, "", (f"{len(moved)} declared variables moved at once",)


def _words(pair: FieldPair) -> str:
    note = f" ({pair.note})" if pair.note else ""
    return f"{_short(pair.left)} and {_short(pair.right)}, not declared as a variable{note}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _field_rows(identities: Sequence[IdentityPair]) -> tuple[FieldRow, ...]:
    by_pair = [{f.path: f for f in identity.fields} for identity in identities]
    return tuple(
        _field_row(path, [own.get(path) for own in by_pair])
        for path in dict.fromkeys(path for own in by_pair for path in own)
    )


def _field_row(path: str, found: Sequence[FieldPair | None]) -> FieldRow:
    first = next(pair for pair in found if pair is not None)
    absent = NOT_DECLARED if is_declared(path) else NOT_STATED
    verdicts = tuple(pair.verdict if pair is not None else Verdict.same for pair in found)
    return FieldRow(
        path=path,
        values=(first.left, *(pair.right if pair is not None else absent for pair in found)),
        verdict=worst(verdicts),
        verdicts=verdicts,
        notes=tuple(dict.fromkeys(pair.note for pair in found if pair is not None and pair.note)),
        follows=next((pair.follows for pair in found if pair is not None and pair.follows), ""),
    )
