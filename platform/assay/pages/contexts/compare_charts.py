"""Overlays of compared runs, each with the table behind it: distributions, front, residuals."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.analysis.comparability.comparison import Comparison
from assay.analysis.comparability.numbers import MetricRow
from assay.analysis.comparability.pareto import Point, front
from assay.analysis.comparability.residual_rows import ResidualRow, SideResidual
from assay.analysis.percentiles import Floats, percentile, samples_needed
from assay.archive import compared
from assay.pages import formatting
from assay.pages.charts.overlay import (
    PlanePoint,
    RatioDot,
    SideCurve,
    overlaid_ecdf,
    ratio_dots,
    throughput_over_latency,
)
from assay.pages.charts.theme import Figure
from assay.pages.formatting import Quantity

# key in the query -> label, rule; the first is shown unless another is asked for
LATENCIES: Mapping[str, tuple[str, str]] = {
    "ttft": ("TTFT", "ttft.first_content.client"),
    "tpot": ("TPOT", "tpot.last_token"),
    "e2e": ("E2E", "e2e.client"),
}
NO_VALUES: Floats = np.empty(0)
THROUGHPUT = ("throughput.output_tokens", "rate")
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
MOST_RESIDUALS = 14  # drawn; the table has every one


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveRow:
    """One run of the distribution: nearest-rank percentiles; None where too few samples carry one."""

    letter: str
    run: str
    name: str
    n: int
    offered: int
    values: list[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    label: str
    rule: str
    figure: Figure
    rows: list[CurveRow]
    statistics: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow:
    letter: str
    latency: Quantity
    throughput: Quantity
    on_front: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    latency: str
    rule: str
    figure: Figure
    rows: list[FrontRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualLine:
    name: str
    unit: str
    cells: list[tuple[str, SideResidual | None]]  # letter of the side


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    figure: Figure | None
    lines: list[ResidualLine]


def distribution(
    found: Comparison, readings: Mapping[str, Path], latency: str
) -> Distribution | None:
    """``readings`` are the derived folders by run id. None where no run has a value of that latency."""
    label, rule = LATENCIES[latency]
    curves, rows = [], []
    names = Counter(run.name for side in found.sides for run in side.runs)
    for place, side in enumerate(found.sides):
        for run in side.runs:
            folder = readings.get(run.run)
            ordered, offered = compared.curve(folder, rule) if folder else (NO_VALUES, 0)
            name = run.name if names[run.name] == 1 else f"{run.name} {run.run[-6:]}"
            curves.append(
                SideCurve(
                    place=place,
                    label=f"{side.letter} {name}",
                    values_s=ordered,
                    offered=offered,
                )
            )
            rows.append(
                CurveRow(
                    letter=side.letter,
                    run=run.run,
                    name=name,
                    n=len(ordered),
                    offered=offered,
                    values=_ladder(ordered),
                )
            )
    if not any(len(curve.values_s) for curve in curves):
        return None
    return Distribution(
        label=label,
        rule=rule,
        figure=overlaid_ecdf(curves),
        rows=rows,
        statistics=["min", *QUANTILES, "max"],
    )


def _ladder(ordered: Floats) -> list[float | None]:
    n = len(ordered)
    inner = [percentile(ordered, q) if n >= samples_needed(q) else None for q in QUANTILES.values()]
    ends = [float(v) for v in (ordered[0], ordered[-1])] if n else []
    return [ends[0], *inner, ends[1]] if n else [None] * (len(QUANTILES) + 2)


def pareto(found: Comparison, latency: str) -> Front | None:
    """None where fewer than two sides have both numbers."""
    label, rule = LATENCIES[latency]
    by_key = {row.key: row for row in reversed(found.metrics)}
    x, y = by_key.get((rule, "p50")), by_key.get(THROUGHPUT)
    letters = [side.letter for side in found.sides]
    points = front(letters, latency=x, throughput=y)
    if len(points) < 2 or x is None or y is None:
        return None
    return Front(
        latency=f"{label} p50",
        rule=rule,
        figure=throughput_over_latency(
            [_plane_point(point, letters, x) for point in points],
            f"{label} p50 (log scale)",
            "output tokens a second",
        ),
        rows=[
            FrontRow(
                letter=point.letter,
                latency=formatting.quantity(point.latency, x.unit),
                throughput=formatting.quantity(point.throughput, y.unit),
                on_front=point.on_front,
            )
            for point in points
        ],
    )


def _plane_point(point: Point, letters: Sequence[str], row: MetricRow) -> PlanePoint:
    return PlanePoint(
        place=letters.index(point.letter),
        letter=point.letter,
        latency_s=point.latency,
        latency=formatting.quantity(point.latency, row.unit),
        throughput=point.throughput,
        on_front=point.on_front,
    )


def residuals(found: Comparison) -> Residuals:
    letters = [side.letter for side in found.sides]
    lines = [
        ResidualLine(
            name=_name(row), unit=row.unit, cells=list(zip(letters, row.values, strict=True))
        )
        for row in found.residuals
    ]
    return Residuals(figure=_residual_figure(found), lines=lines)


def _name(row: ResidualRow) -> str:
    """Short: the quantity, its case or segment, and the batch; the export has every condition."""
    where = row.conditions.get("case") or row.conditions.get("segment") or ""
    phase, batch = row.conditions.get("phase"), row.conditions.get("batch")
    parts = (row.quantity, where, phase, f"batch {batch}" if batch is not None else "")
    return " · ".join(str(part) for part in parts if part)


def _residual_figure(found: Comparison) -> Figure | None:
    """Times alone: work and capacity either agree exactly or were not measured."""
    letters = [side.letter for side in found.sides]
    dots: list[RatioDot] = []
    names: list[str] = []
    for row in found.residuals:
        own = [
            _residual_dot(row, place, letters[place], value)
            for place, value in enumerate(row.values)
            if value is not None and value.measured and value.predicted
        ]
        if row.unit == "s" and len(own) > 1 and len(names) < MOST_RESIDUALS:
            names.append(_name(row))
            dots += own
    return ratio_dots(dots, names, "measured over predicted (log scale)") if dots else None


def _residual_dot(row: ResidualRow, place: int, letter: str, value: SideResidual) -> RatioDot:
    assert value.measured is not None
    assert value.predicted is not None
    measured = formatting.quantity(value.measured, row.unit)
    predicted = formatting.quantity(value.predicted, row.unit)
    return RatioDot(
        place=place,
        letter=letter,
        row=_name(row),
        ratio=value.measured / value.predicted,
        low=None,
        high=None,
        shown=f"{measured}, predicted {predicted} ({value.validity})",
    )


def exported_distribution(found: Distribution | None) -> tuple[list[str], list[list[Any]]]:
    statistics = ["min", *QUANTILES, "max"]
    columns = ["side", "run", "name", "rule", "n", "offered", *(f"{s}_s" for s in statistics)]
    if found is None:
        return columns, []
    rows = [[r.letter, r.run, r.name, found.rule, r.n, r.offered, *r.values] for r in found.rows]
    return columns, rows


def exported_front(found: Comparison, latency: str) -> tuple[list[str], list[list[Any]]]:
    rule = LATENCIES[latency][1]
    by_key = {row.key: row for row in reversed(found.metrics)}
    points = front(
        [side.letter for side in found.sides],
        latency=by_key.get((rule, "p50")),
        throughput=by_key.get(THROUGHPUT),
    )
    columns = ["side", "latency_rule", "latency_s", "output_tokens_per_s", "on_front"]
    return columns, [[p.letter, rule, p.latency, p.throughput, p.on_front] for p in points]


def exported_residuals(found: Comparison) -> tuple[list[str], list[list[Any]]]:
    letters = [side.letter for side in found.sides]
    parts = ("predicted", "measured", "relative", "validity", "class", "absent")
    columns = ["quantity", "conditions", "unit", *(f"{k}_{p}" for k in letters for p in parts)]
    rows = []
    for row in found.residuals:
        cells: list[Any] = [row.quantity, dict(row.conditions), row.unit]
        for v in row.values:
            cells += (
                [v.predicted, v.measured, v.relative, v.validity, v.klass or None, v.reason or None]
                if v is not None
                else [None] * len(parts)
            )
        rows.append(cells)
    return columns, rows
