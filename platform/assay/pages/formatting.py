"""Quantities for people: three significant digits, the right prefix, the exact value kept for hover and copy.

State is binary (KiB, MiB, GiB), rates are decimal (GB/s, TFLOP/s); times run from ns to min. Inside the
program only seconds, bytes and FLOP are used: this is the one place where they are converted.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

THIN_SPACE = "\u202f"
MINUS = "\u2212"

_TIME_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_TIME_STEPS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
# State in bytes, state per token, and state held over time: all binary.
_BINARY = {"byte": "", "byte/token": "/token", "byte*s": "·s"}
_DECIMAL_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_PREFIXED = {
    "byte/s": "B/s",
    "flop/s": "FLOP/s",
    "FLOP/s": "FLOP/s",
    "flop": "FLOP",
    "FLOP": "FLOP",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A value as people read it. ``exact`` is the full-precision value with its stored unit."""

    text: str
    unit: str
    exact: str

    def __str__(self) -> str:
        return f"{self.text}{THIN_SPACE}{self.unit}" if self.unit else self.text


def significant(value: float, digits: int = 3) -> str:
    """``digits`` significant digits without an exponent between 1e-4 and 1e7; thin spaces group thousands."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if not -5 < magnitude < 7:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return _signed(f"{mantissa}e{int(exponent)}")
    decimals = digits - 1 - magnitude
    rounded = round(value, decimals)
    return _signed(f"{rounded:,.{max(decimals, 0)}f}".replace(",", THIN_SPACE))


def integer(value: int) -> str:
    """An integer in full, thousands grouped by thin spaces."""
    return _signed(f"{value:,}".replace(",", THIN_SPACE))


def quantity(value: float | int, unit: str) -> Quantity:
    """``value`` in ``unit`` as a person would write it.

    Known units: s ms us ns, byte, byte/s, FLOP, FLOP/s, token, token/s, request/s, 1. An unknown unit is
    printed as it is.
    """
    exact = f"{value!r} {unit}".strip() if unit != "1" else repr(value)
    if not math.isfinite(value):
        word = "NaN" if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
        return Quantity(text=word, unit="" if unit == "1" else unit, exact=exact)
    text, shown = _scaled(float(value), unit, whole=isinstance(value, int))
    return Quantity(text=text, unit=shown, exact=exact)


def same_scale(values: list[float], unit: str) -> tuple[list[str], str]:
    """Several values of one unit on the scale of the largest, so that an interval reads ``[588, 640]``."""
    finite = [v for v in values if math.isfinite(v)]
    largest = max((abs(v) for v in finite), default=0.0)
    factor, shown = scale_of(largest, unit)
    return [significant(v / factor) if math.isfinite(v) else "∞" for v in values], shown


def relative(value: float) -> str:
    """A relative difference as a signed percentage, ``+12.3 %``."""
    sign = "+" if value > 0 else ""
    return f"{sign}{significant(value * 100)}{THIN_SPACE}%"


def share(value: float) -> Quantity:
    """A share of something as a percentage, ``83.3 %``; the exact ratio is kept."""
    return Quantity(text=significant(value * 100).removesuffix(".0"), unit="%", exact=repr(value))


def duration(span: timedelta | float) -> str:
    """Elapsed time for people: ``38 s``, ``2 min 05 s``, ``3 h 20 min``."""
    seconds = span.total_seconds() if isinstance(span, timedelta) else span
    if seconds < 1:
        return str(quantity(float(seconds), "s"))
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{THIN_SPACE}s"
    if whole < 3600:
        return f"{whole // 60}{THIN_SPACE}min {whole % 60:02d}{THIN_SPACE}s"
    return f"{whole // 3600}{THIN_SPACE}h {whole % 3600 // 60:02d}{THIN_SPACE}min"


def parameters(value: float) -> Quantity:
    """A number of parameters as the field writes it, ``671B``; decimal, the exact count kept."""
    for factor, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if value >= factor:
            return Quantity(
                text=significant(value / factor) + letter, unit="", exact=f"{value:.0f}"
            )
    return Quantity(text=integer(int(value)), unit="", exact=f"{value:.0f}")


def moment(when: datetime) -> str:
    """A UTC instant to the second."""
    return when.strftime("%Y-%m-%d %H:%M:%S")


def short_digest(digest: str) -> str:
    """The first twelve hexadecimal digits; the full digest belongs in the title."""
    return digest[:12]


def _scaled(value: float, unit: str, *, whole: bool) -> tuple[str, str]:
    if unit in ("token", "1", "request", "block", "count") and (whole or value.is_integer()):
        return integer(int(value)), "" if unit in ("1", "count") else unit
    factor, shown = scale_of(abs(value), unit)
    if whole and factor == 1.0:
        return integer(int(value)), shown
    return significant(value / factor), shown


def scale_of(magnitude: float, unit: str) -> tuple[float, str]:
    """The divisor that brings ``magnitude`` (in ``unit``) to the printed unit."""
    if unit.startswith("s/"):  # a time per byte, FLOP or token
        for step, shown in (*_TIME_STEPS, (1e-3, "ps")):
            if magnitude * 1e9 >= step:
                return step / 1e9, f"{shown}/{unit[2:]}"
        return 1.0, unit
    if unit in _TIME_NS:
        in_ns = magnitude * _TIME_NS[unit]
        for step, shown in _TIME_STEPS:
            if in_ns >= step:
                return step / _TIME_NS[unit], shown
        return (1.0, unit.replace("us", "µs")) if magnitude == 0 else (1 / _TIME_NS[unit], "ns")
    if unit in _BINARY:
        suffix = _BINARY[unit]
        for power, shown in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
            if magnitude >= 1024**power:
                return float(1024**power), shown + suffix
        return 1.0, "B" + suffix
    if unit in _PREFIXED:
        for factor, prefix in _DECIMAL_PREFIXES:
            if magnitude >= factor:
                return factor, prefix + _PREFIXED[unit]
        return 1.0, _PREFIXED[unit]
    return 1.0, "" if unit in ("1", "count") else unit


def _signed(text: str) -> str:
    return MINUS + text[1:] if text.startswith("-") else text
