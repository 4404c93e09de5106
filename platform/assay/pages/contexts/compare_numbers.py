"""Metrics of compared runs as a page shows them: each side's value, and below it what separates it from A."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.comparability.between_starts import Difference
from assay.analysis.comparability.comparison import Comparison
from assay.analysis.comparability.numbers import MetricRow, SideValue
from assay.analysis.metrics.catalogue import title_of
from assay.pages import formatting
from assay.pages.charts.overlay import RatioDot, ratio_dots
from assay.pages.charts.theme import Figure
from assay.pages.contexts.measures import FIGURES
from assay.pages.formatting import Quantity

SHOWN = {(figure.rule, figure.statistic): figure.label for figure in FIGURES}


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceLine:
    """``text`` is relative where it can be; ``interval`` is empty for the reason in ``no_interval``."""

    text: str
    absolute: Quantity
    interval: str
    interval_kind: str
    no_interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    letter: str
    quantity: Quantity | None
    spread: str
    spread_kind: str
    runs: int
    n: int
    of: int
    absent: str
    difference: DifferenceLine | None
    refused: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLine:
    label: str
    rule: str
    statistic: str
    title: str
    population: str
    perspective: str
    limited_by: str
    cells: list[Cell]

    @property
    def absent(self) -> str:
        """The one reason why no side has a value; empty where a side has one, or the reasons differ."""
        reasons = {"" if cell.quantity else cell.absent for cell in self.cells}
        return reasons.pop() if len(reasons) == 1 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    lines: list[MetricLine]
    total: int
    shows_all: bool
    ratios: Figure | None


def numbers(found: Comparison, *, shows_all: bool) -> Numbers:
    rows = [row for row in found.metrics if shows_all or _is_headline(row)]
    letters = [side.letter for side in found.sides]
    return Numbers(
        lines=[_line(row, letters) for row in rows],
        total=len(found.metrics),
        shows_all=shows_all,
        ratios=_ratios([row for row in found.metrics if _is_headline(row)], letters),
    )


def _is_headline(row: MetricRow) -> bool:
    return row.key in SHOWN and any(value.value is not None for value in row.values)


def label_of(row: MetricRow) -> str:
    return SHOWN.get(row.key) or f"{row.rule} {row.statistic}"


def _line(row: MetricRow, letters: Sequence[str]) -> MetricLine:
    differences = (None, *row.differences)
    refused = ("", *row.refused)
    return MetricLine(
        label=label_of(row),
        rule=row.rule,
        statistic=row.statistic,
        title=title_of(row.rule),
        population=row.population,
        perspective=row.perspective,
        limited_by=row.limited_by,
        cells=[
            _cell(row, value, letter, difference, why)
            for value, letter, difference, why in zip(
                row.values, letters, differences, refused, strict=True
            )
        ],
    )


def _cell(
    row: MetricRow, value: SideValue, letter: str, difference: Difference | None, why: str
) -> Cell:
    return Cell(
        letter=letter,
        quantity=None if value.value is None else quantity_of(row, value.value),
        spread=_interval(row, value.low, value.high, beside=value.value),
        spread_kind=value.spread,
        runs=len(value.values),
        n=value.n,
        of=value.of,
        absent=value.absent,
        difference=None if difference is None else _difference(row, difference),
        refused="" if value.value is None else why,
    )


def quantity_of(row: MetricRow, value: float) -> Quantity:
    if row.statistic == "ratio" and row.unit == "1":
        return formatting.share(value)
    return formatting.quantity(value, row.unit)


def _difference(row: MetricRow, found: Difference) -> DifferenceLine:
    absolute = quantity_of(row, found.absolute)
    signed = f"+{absolute}" if found.absolute > 0 else str(absolute)
    is_share = row.unit == "1" or found.relative is None
    interval = found.interval
    return DifferenceLine(
        text=signed if is_share else formatting.relative(found.relative or 0.0),
        absolute=absolute,
        interval=""
        if interval is None
        else _interval(row, interval.low, interval.high, beside=None),
        interval_kind="" if interval is None else interval.kind,
        no_interval=found.no_interval,
    )


def _interval(
    row: MetricRow, low: float | None, high: float | None, *, beside: float | None
) -> str:
    """In the unit of the value beside it; alone it names its own."""
    if low is None or high is None:
        return ""
    if row.statistic == "ratio" and row.unit == "1":
        return f"[{formatting.share(low).text}, {formatting.share(high).text}]"
    if beside:
        factor, _unit = formatting.scale_of(abs(beside), row.unit)
        shown = [formatting.significant(v / factor) for v in (low, high)]
        return f"[{shown[0]}, {shown[1]}]"
    texts, unit = formatting.same_scale([low, high], row.unit)
    return f"[{texts[0]}, {texts[1]}]{formatting.THIN_SPACE}{unit}".rstrip()


def _ratios(rows: Sequence[MetricRow], letters: Sequence[str]) -> Figure | None:
    """Each side over the first one; a metric that the first side lacks, or has as zero, has no ratio."""
    dots, names = [], []
    for row in rows:
        base = row.values[0].value
        if not base or base < 0:
            continue
        own = [
            _dot(row, place, letters[place], value, base)
            for place, value in enumerate(row.values)
            if value.value and value.value > 0 and not (place and row.refused[place - 1])
        ]
        if len(own) > 1:
            names.append(label_of(row))
            dots += own
    if not dots:
        return None
    return ratio_dots(dots, names, f"ratio to {letters[0]} (log scale; 1 = as {letters[0]})")


def _dot(row: MetricRow, place: int, letter: str, value: SideValue, base: float) -> RatioDot:
    assert value.value is not None
    low, high = value.low, value.high
    interval = _interval(row, low, high, beside=value.value)
    return RatioDot(
        place=place,
        letter=letter,
        row=label_of(row),
        ratio=value.value / base,
        low=None if low is None or low <= 0 else low / base,
        high=None if high is None else high / base,
        shown=f"{quantity_of(row, value.value)} {interval} {value.spread}",
    )


EXPORT_PER_SIDE = ("value", "low", "high", "interval_kind", "runs", "n", "of", "absent")
EXPORT_PER_OTHER = (
    *("difference", "relative", "difference_low", "difference_high"),
    *("interval_of_difference", "refused"),
)


def exported(found: Comparison) -> tuple[list[str], list[list[Any]]]:
    letters = [side.letter for side in found.sides]
    columns = ["rule", "statistic", "unit", "population", "perspective", "limited_by"]
    columns += [f"{letter}_{name}" for letter in letters for name in EXPORT_PER_SIDE]
    columns += [f"{letter}_{name}" for letter in letters[1:] for name in EXPORT_PER_OTHER]
    return columns, [_exported_row(row) for row in found.metrics]


def _exported_row(row: MetricRow) -> list[Any]:
    cells: list[Any] = [
        row.rule,
        row.statistic,
        row.unit,
        row.population,
        row.perspective,
        row.limited_by,
    ]
    for v in row.values:
        cells += [
            *(v.value, v.low, v.high, v.spread or None, len(v.values)),
            *(v.n, v.of, v.absent or None),
        ]
    for difference, why in zip(row.differences, row.refused, strict=True):
        interval = difference.interval if difference is not None else None
        cells += [
            difference.absolute if difference is not None else None,
            difference.relative if difference is not None else None,
            interval.low if interval is not None else None,
            interval.high if interval is not None else None,
            interval.kind
            if interval is not None
            else (difference.no_interval if difference is not None else None),
            why or None,
        ]
    return cells
