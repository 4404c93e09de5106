"""Predictions and measurements of every side: where two sides depart differently from what was expected."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from assay.analysis.comparability.record import Residual
from assay.analysis.comparability.sides import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class SideResidual:
    """Medians over the runs of one side that have the row. ``relative`` is null for ``reason``."""

    predicted: float | None
    measured: float | None
    relative: float | None
    validity: str
    klass: str
    runs: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualRow:
    """One quantity under one set of conditions; null for a side without such a prediction."""

    quantity: str
    conditions: Mapping[str, Any]
    unit: str
    values: tuple[SideResidual | None, ...]


def residual_rows(sides: Sequence[Side]) -> tuple[ResidualRow, ...]:
    """Rows that at least one side has measured, in the order in which they first appear."""
    return tuple(_rows(sides))


def _rows(sides: Sequence[Side]) -> Iterator[ResidualRow]:
    by_side: list[dict[tuple[str, str, str], list[Residual]]] = []
    for side in sides:
        own: dict[tuple[str, str, str], list[Residual]] = {}
        for run in side.runs:
            for row in run.residuals:
                own.setdefault(_key(row), []).append(row)
        by_side.append(own)
    for key in dict.fromkeys(key for own in by_side for key in own):
        found = [own.get(key) for own in by_side]
        if any(row.measured is not None for rows in found for row in rows or ()):
            first = next(rows[0] for rows in found if rows)
            yield ResidualRow(
                quantity=first.quantity,
                conditions=first.conditions,
                unit=first.unit,
                values=tuple(_value(rows) if rows else None for rows in found),
            )


def _key(row: Residual) -> tuple[str, str, str]:
    return row.quantity, row.unit, json.dumps(row.conditions, sort_keys=True, default=str)


def _value(rows: Sequence[Residual]) -> SideResidual:
    return SideResidual(
        predicted=_median([row.predicted for row in rows]),
        measured=_median([row.measured for row in rows]),
        relative=_median([row.relative for row in rows]),
        validity=rows[0].validity,
        klass=rows[0].klass,
        runs=len(rows),
        reason=next((row.reason for row in rows if row.reason), ""),
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
