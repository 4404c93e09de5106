"""Lags of the client itself, gathered while a drive goes, summed up after it."""

import math
from array import array
from typing import TypedDict

QUANTILES = {"p50_ns": 0.50, "p90_ns": 0.90, "p99_ns": 0.99, "p999_ns": 0.999}


class LagSummary(TypedDict):
    """Quantiles by nearest rank, in ns; null with a reason where nothing was observed."""

    what: str
    n: int
    mean_ns: float | None
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    max_ns: int | None
    rule: str
    reason: str | None


class LagSeries:
    """``add(ns)`` is for the hot path: eight bytes a value, nothing else."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._values = array("q")
        self.add = self._values.append

    def __len__(self) -> int:
        return len(self._values)

    @property
    def largest(self) -> int | None:
        return max(self._values, default=None)

    def count_above(self, bound_ns: float) -> int:
        return sum(value > bound_ns for value in self._values)

    def summary(self) -> LagSummary:
        """Nearest rank: the smallest value with at least q·n values at or below it."""
        values = sorted(self._values)
        n = len(values)
        ranks = {
            name: values[max(math.ceil(q * n), 1) - 1] if n else None
            for name, q in QUANTILES.items()
        }
        return LagSummary(
            what=self.what,
            n=n,
            mean_ns=sum(values) / n if n else None,
            p50_ns=ranks["p50_ns"],
            p90_ns=ranks["p90_ns"],
            p99_ns=ranks["p99_ns"],
            p999_ns=ranks["p999_ns"],
            max_ns=values[-1] if n else None,
            rule="nearest rank",
            reason=None if n else "nothing was observed",
        )
