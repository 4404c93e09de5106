"""From values to places along an axis: linear, logarithmic, or one place a name; with the ticks to write."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_STEPS = (1, 2, 2.5, 5, 10)
_WANTED_TICKS = 6
_PADDING = 0.05


class Kind(StrEnum):
    linear = "linear"
    log = "log"
    category = "category"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """``low`` and ``high`` are in axis units: values, their log10, or places in ``names``."""

    kind: Kind
    low: float
    high: float
    names: tuple[str, ...]
    start: float
    end: float

    def at(self, value: Any) -> float | None:
        """The pixel of a value; None for one that the axis has no place for, zero on a logarithm's say."""
        unit = self._unit(value)
        if unit is None:
            return None
        return self.start + (unit - self.low) / (self.high - self.low) * (self.end - self.start)

    def step(self) -> float:
        """Pixels from one name to the next."""
        return abs((self.end - self.start) / (self.high - self.low))

    def _unit(self, value: Any) -> float | None:
        if value is None:
            return None
        if self.kind is Kind.category:
            return float(self.names.index(str(value))) if str(value) in self.names else None
        number = float(value)
        if self.kind is Kind.log:
            return math.log10(number) if number > 0 else None
        return number


def scale(axis: Mapping[str, Any], values: Iterable[Any], *, start: float, end: float) -> Scale:
    """``axis`` is Plotly's; ``values`` are all that is drawn along it, for an axis without a range."""
    found = [value for value in values if value is not None]
    kind = _kind(axis, found)
    names = _names(axis, found) if kind is Kind.category else ()
    low, high = _bounds(axis, kind, found, names)
    return Scale(kind=kind, low=low, high=high, names=names, start=start, end=end)


def ticks(axis: Mapping[str, Any], of: Scale) -> list[tuple[float, str]]:
    """Pixel and words of each tick inside the axis, in the order given."""
    low, high = min(of.low, of.high), max(of.low, of.high)
    places = []
    for value, words in _labelled(axis, of, low, high):
        pixel = of.at(value)
        if pixel is not None and min(of.start, of.end) - 1 <= pixel <= max(of.start, of.end) + 1:
            places.append((pixel, words))
    return places


def _kind(axis: Mapping[str, Any], values: Sequence[Any]) -> Kind:
    if "type" in axis:
        return Kind(axis["type"])
    return Kind.category if any(isinstance(v, str) for v in values) else Kind.linear


def _names(axis: Mapping[str, Any], values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(axis.get("categoryarray") or dict.fromkeys(str(v) for v in values))


def _bounds(
    axis: Mapping[str, Any], kind: Kind, values: Sequence[Any], names: Sequence[str]
) -> tuple[float, float]:
    if "range" in axis:
        low, high = axis["range"]
        return float(low), float(high)
    low, high = (-0.5, len(names) - 0.5) if kind is Kind.category else _span(axis, kind, values)
    if low >= high:  # one value alone still has room around it
        low, high = low - 0.5, low + 0.5
    return (high, low) if axis.get("autorange") == "reversed" else (low, high)


def _span(axis: Mapping[str, Any], kind: Kind, values: Sequence[Any]) -> tuple[float, float]:
    numbers = [float(v) for v in values]
    if kind is Kind.log:
        numbers = [math.log10(v) for v in numbers if v > 0]
    if not numbers:
        return 0.0, 1.0
    low, high = min(numbers), max(numbers)
    pad = (high - low) * _PADDING
    if axis.get("rangemode") == "tozero" and low >= 0:
        return 0.0, high + (high * _PADDING)
    return low - pad, high + pad


def _labelled(axis: Mapping[str, Any], of: Scale, low: float, high: float) -> list[tuple[Any, str]]:
    if of.kind is Kind.category:
        return [(name, name) for name in of.names]
    if "tickvals" in axis:
        words = axis.get("ticktext") or [_words(v, axis) for v in axis["tickvals"]]
        return list(zip(axis["tickvals"], words, strict=True))
    if of.kind is Kind.log:
        return [(v, _words(v, axis)) for v in _decades(low, high)]
    size = float(axis.get("dtick") or _nice((high - low) / _WANTED_TICKS))
    first = math.ceil(low / size - 1e-9)
    last = math.floor(high / size + 1e-9)
    return [(n * size, _words(n * size, axis)) for n in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    few = (1, 2, 5) if high - low < 2.5 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    return [m * 10.0**p for p in powers for m in few if low <= math.log10(m * 10.0**p) <= high]


def _nice(size: float) -> float:
    power = 10.0 ** math.floor(math.log10(size))
    return next(step * power for step in _STEPS if step * power >= size * 0.999)


def _words(value: float, axis: Mapping[str, Any]) -> str:
    if axis.get("tickformat") == ".0%":
        return f"{value:.0%}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"
