"""The same metric on every side, and what separates the others from the first.

The same means the same rule, statistic, unit, population and perspective; equal names alone do not make equal
metrics. What one side lacks, or has over another population, has no difference, for a stated reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.comparability.between_starts import Difference, difference
from assay.analysis.comparability.record import Number
from assay.analysis.comparability.sides import Side
from assay.analysis.errors import ClaimRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class SideValue:
    """What one side has of a metric: the value of each of its starts, and their mean.

    ``low`` and ``high`` are the interval within the one start there is, else the lowest and highest start;
    ``spread`` says which. ``value`` is null for the reason in ``absent``.
    """

    value: float | None
    values: tuple[float, ...]
    fresh: int
    low: float | None
    high: float | None
    spread: str
    n: int
    of: int
    absent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """``differences`` has an entry for each side but the first; null for the reason in ``refused``."""

    rule: str
    statistic: str
    unit: str
    population: str
    perspective: str
    limited_by: str
    values: tuple[SideValue, ...]
    differences: tuple[Difference | None, ...]
    refused: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        return self.rule, self.statistic


def check_same_metric(left: Number, right: Number) -> None:
    """Raises ClaimRefused where two numbers are not of one metric, naming what differs."""
    for field in ("rule", "statistic", "unit", "perspective", "population"):
        ours, theirs = getattr(left, field), getattr(right, field)
        if ours != theirs:
            raise ClaimRefused(
                field=f"{field} of {left.rule} {left.statistic}",
                seen=f"{ours} and {theirs}",
                allowed="the same rule, statistic, unit, perspective and population",
                remedy="Numbers of different definitions have no difference: read both by one rule.",
            )


def metric_rows(sides: Sequence[Side]) -> tuple[MetricRow, ...]:
    """Every metric that some side has, in the order in which they first appear."""
    by_side = [[_by_key(run.numbers) for run in side.runs] for side in sides]
    keys = dict.fromkeys(key for runs in by_side for numbers in runs for key in numbers)
    return tuple(_row(key, sides, by_side) for key in keys)


def _by_key(numbers: Sequence[Number]) -> dict[tuple[str, str, str], Number]:
    """By rule, statistic and stage or segment: several windows of one load are several metrics."""
    found: dict[tuple[str, str, str], Number] = {}
    for number in numbers:
        found.setdefault((number.rule, number.statistic, _stage(number.population)), number)
    return found


def _stage(population: str) -> str:
    return next((p for p in population.split(", ") if p.startswith(("stage ", "all stages"))), "")


def _row(
    key: tuple[str, str, str],
    sides: Sequence[Side],
    by_side: Sequence[Sequence[dict[tuple[str, str, str], Number]]],
) -> MetricRow:
    found = [[numbers.get(key) for numbers in runs] for runs in by_side]
    known = [number for own in found for number in own if number is not None]
    first = known[0]
    values = tuple(_value(own, side) for own, side in zip(found, sides, strict=True))
    strangers = [_stranger(first, own) for own in found]
    differences, refused = [], []
    for value, stranger in zip(values[1:], strangers[1:], strict=True):
        why = strangers[0] or stranger or values[0].absent or value.absent
        refused.append(why)
        differences.append(
            None
            if why
            else difference(values[0].values, value.values, fresh=(values[0].fresh, value.fresh))
        )
    return MetricRow(
        rule=first.rule,
        statistic=first.statistic,
        unit=first.unit,
        population=first.population,
        perspective=first.perspective,
        limited_by=min(number.limited_by for number in known),
        values=values,
        differences=tuple(differences),
        refused=tuple(refused),
    )


def _stranger(first: Number, own: Sequence[Number | None]) -> str:
    """Why the numbers of a side are of another metric than the first one's; empty if they are not."""
    for number in own:
        if number is None or number.value is None:
            continue
        try:
            check_same_metric(first, number)
        except ClaimRefused as refused:
            return f"{refused.finding.field}: {refused.finding.seen}"
    return ""


def _value(own: Sequence[Number | None], side: Side) -> SideValue:
    known = [
        (number, run)
        for number, run in zip(own, side.runs, strict=True)
        if number is not None and number.value is not None
    ]
    values = tuple(number.value for number, _ in known if number.value is not None)
    low, high, spread = _spread([number for number, _ in known], values)
    return SideValue(
        value=sum(values) / len(values) if values else None,
        values=values,
        fresh=sum(run.starts_engine for _, run in known),
        low=low,
        high=high,
        spread=spread,
        n=sum(number.n for number, _ in known),
        of=sum(number.of for number, _ in known),
        absent="" if values else _why_absent(own, side),
    )


def _spread(
    known: Sequence[Number], values: Sequence[float]
) -> tuple[float | None, float | None, str]:
    if len(known) > 1:
        return min(values), max(values), f"lowest and highest of {len(values)} runs"
    if not known or known[0].low is None:
        return None, None, ""
    return known[0].low, known[0].high, known[0].interval_kind


def _why_absent(own: Sequence[Number | None], side: Side) -> str:
    told = next((n.absent for n in own if n is not None and n.absent), "")
    return f"{side.letter}: {told}" if told else f"{side.letter} has no number by this rule"
