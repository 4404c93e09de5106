"""Bounded, robust least squares on relative residuals, with each parameter's own scale as its prior.

    minimise  sum w ((sum amount x value - measured) / measured)**2  +  sum (SIGMA (value - prior) / scale)**2

within each parameter's limits. Weights follow Huber, so that a step that something else held up counts
little. A parameter that has a measurement of its own may move inside that measurement's spread only; one that
was assumed may take any value that is not negative.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

SIGMA = 0.05  # relative scatter that like cells are expected to have
HUBER = 1.345  # standard deviations beyond which a residual counts less
ROUNDS = 12
ALIKE = 0.999  # correlation of two columns that the points cannot tell apart

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is known of a parameter before the fit; ``measured`` ones stay inside ``low`` to ``high``."""

    name: str
    value: float
    low: float
    high: float
    measured: bool

    @property
    def scale(self) -> float:
        half = (self.high - self.low) / 2
        if self.measured:
            return max(half, 0.01 * self.value)
        return 10 * max(self.high, half)  # an assumption hardly pulls

    @property
    def limits(self) -> tuple[float, float]:
        if not self.measured:
            return 0.0, np.inf
        slack = 1e-9 * self.value  # the solver wants an interval that is not empty
        return self.low - slack, self.high + slack


def solve(amounts: Array, measured: Array, weights: Array, priors: Sequence[Prior]) -> Array:
    """Values of the parameters; ``amounts`` has a row for each group and a column for each prior."""
    relative = amounts / measured[:, None]
    robust = np.ones(len(measured))
    values = np.array([p.value for p in priors])
    for _ in range(ROUNDS):
        values = _bounded(relative, weights * robust, priors)
        rest = np.abs(relative @ values - 1)
        width = max(SIGMA, 1.4826 * float(np.median(rest)))
        again = np.sqrt(np.minimum(1.0, HUBER * width / np.maximum(rest, 1e-12)))
        if np.allclose(again, robust, atol=1e-3):
            break
        robust = again
    return values


def inseparable(amounts: Array, names: Sequence[str]) -> list[str]:
    """Pairs of parameters whose amounts move together in these points: only their sum is known."""
    used = [i for i in range(len(names)) if amounts[:, i].any()]
    found = []
    for place, i in enumerate(used):
        for j in used[place + 1 :]:
            a, b = amounts[:, i], amounts[:, j]
            alike = float(a @ b / np.sqrt((a @ a) * (b @ b)))
            if alike > ALIKE:
                found.append(f"{names[i]} and {names[j]}")
    return found


def _bounded(relative: Array, weights: Array, priors: Sequence[Prior]) -> Array:
    scales = np.array([p.scale for p in priors])
    before = np.array([p.value for p in priors])
    rows = weights[:, None] * relative * scales
    left = weights * (1 - relative @ before)
    system = np.vstack([rows, SIGMA * np.eye(len(priors))])
    right = np.concatenate([left, np.zeros(len(priors))])
    lower = np.array([(p.limits[0] - p.value) / p.scale for p in priors])
    upper = np.array([(p.limits[1] - p.value) / p.scale for p in priors])
    found = _optimize().lsq_linear(system, right, bounds=(lower, upper))
    moved: Array = np.asarray(found.x, dtype=float)
    return before + scales * moved


def _optimize() -> ModuleType:
    """Loaded when something is fitted: a reading only names the calibration it was predicted by."""
    return importlib.import_module("scipy.optimize")
