"""Throughput against latency: which points no other point beats in both."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.comparability.numbers import MetricRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One side. ``on_front``: no other side has at least its throughput at no more than its latency."""

    letter: str
    latency: float
    throughput: float
    on_front: bool


def front(
    letters: Sequence[str], *, latency: MetricRow | None, throughput: MetricRow | None
) -> tuple[Point, ...]:
    """The sides that have both numbers of the first side's metric, in their order."""
    if latency is None or throughput is None:
        return ()
    found = [
        (letter, x, y)
        for place, letter in enumerate(letters)
        if (x := _comparable(latency, place)) is not None
        and (y := _comparable(throughput, place)) is not None
    ]
    return tuple(
        Point(letter=letter, latency=x, throughput=y, on_front=not _beaten(x, y, found))
        for letter, x, y in found
    )


def _comparable(row: MetricRow, place: int) -> float | None:
    """A number of another metric than the first side's has no place on its axis."""
    return None if place and row.refused[place - 1] else row.values[place].value


def _beaten(x: float, y: float, points: Sequence[tuple[str, float, float]]) -> bool:
    return any(
        other_x <= x and other_y >= y and (other_x, other_y) != (x, y)
        for _, other_x, other_y in points
    )
