"""Fit named parameters on measured steps, each inside its interval, and predict steps that were left out.

Bounded least squares on relative residuals (``fitting.solve``); no parameter scales a whole step. A step is
never predicted by values that it, or another one of its group, helped to fit, except in the column that says
so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.device_estimate.parameters import FIT, FRONT, KNOWN, before
from assay.analysis.device_estimate.terms import Amounts
from assay.analysis.errors import ClaimRefused
from assay.analysis.fitting.solve import Prior, inseparable, solve
from runners.protocol.documents import Parameter

UNMOVED = 1e-3  # relative change below which a parameter counts as not moved by the fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured step with its amounts."""

    id: str
    amounts: Amounts
    measured_s: float
    overlapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """``touched``: parameters that some fitted step has an amount of; the others stand as before."""

    values: Mapping[str, float]
    touched: frozenset[str]
    ids: tuple[str, ...]


def fit(points: Sequence[Point]) -> Fitted:
    """Values of every parameter from these points. Overlapped steps are refused: they are no sum."""
    hidden = [point.id for point in points if point.overlapped]
    if hidden or not points:
        raise ClaimRefused(
            field="fitted steps",
            seen=", ".join(hidden) or "none",
            allowed="at least one, and steps whose messages wait for their work",
            remedy="Check such a step against the fit; do not fit it.",
        )
    priors = _priors()
    together = [point.amounts.together() for point in points]
    table = np.array([[each.get(p.name, 0.0) for p in priors] for each in together])
    measured = np.array([point.measured_s for point in points])
    found = solve(table, measured, np.ones(len(points)), priors)
    return Fitted(
        values={
            p.name: min(max(float(v), p.low), p.high) for p, v in zip(priors, found, strict=True)
        }
        | {FRONT: KNOWN[FRONT].value},
        touched=frozenset(name for each in together for name in each),
        ids=tuple(point.id for point in points),
    )


def left_out(
    points: Sequence[Point], fitted: Sequence[Point], group_of: Callable[[str], str]
) -> dict[str, Fitted]:
    """For each group of ``points`` the fit on those of ``fitted`` that are in no such group."""
    groups = dict.fromkeys(group_of(point.id) for point in points)
    return {
        group: fit([point for point in fitted if group_of(point.id) != group]) for group in groups
    }


def moving_together(points: Sequence[Point]) -> list[str]:
    """Pairs of parameters of which these points know the sum only."""
    names = [prior.name for prior in _priors()]
    rows = [point.amounts.together() for point in points]
    table = np.array([[row.get(name, 0.0) for name in names] for row in rows])
    return inseparable(table / np.array([[p.measured_s] for p in points]), names)


def parameters_of(fitted: Fitted, others: Sequence[Fitted]) -> list[Parameter]:
    """Every parameter with its label: a fit where the points moved it, with its spread over other fits."""
    found = []
    for name, value in fitted.values.items():
        start = before(name)
        if name not in fitted.touched or abs(value / start["value"] - 1) < UNMOVED:
            found.append(start)
            continue
        spread = [value, *(other.values[name] for other in others)]
        found.append(
            Parameter(
                name=name,
                value=value,
                unit=start["unit"],
                source=FIT,
                reference=f"{len(fitted.ids)} published steps, inside {_interval(name)} "
                f"({start['source']}; {start['reference']})",
                date=None,
                spread=[min(spread), max(spread)],
            )
        )
    return found


def _interval(name: str) -> str:
    return f"{KNOWN[name].low:.3g} to {KNOWN[name].high:.3g}"


def _priors() -> list[Prior]:
    """``measured`` in the solver's sense: a value that may move inside its interval only."""
    return [
        Prior(name=name, value=entry.value, low=entry.low, high=entry.high, measured=True)
        for name, entry in KNOWN.items()
        if name != FRONT
    ]
