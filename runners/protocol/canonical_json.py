"""Canonical JSON (RFC 8785), byte for byte as the ``rfc8785`` library writes it, mostly by the C encoder.

What Python's own encoder writes alike goes through it; everything else (numbers that JavaScript writes
another way, keys whose order in UTF-16 may differ, what is no JSON) is left to the library and its refusals.
"""

import json
import math
from typing import Any

import rfc8785

_LARGEST_INT = 2**53 - 1
# Between these the shortest digits of a float are written without an exponent, here and there.
_SMALLEST_FLOAT, _LARGEST_FLOAT = 1e-4, 1e15
_THE_SAME = frozenset({str, bool, type(None)})
_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


class _OnlyTheLibrary(Exception):
    """This value is not written alike by both."""


def canonical(document: Any) -> bytes:
    """Canonical JSON bytes. NaN and infinities are refused by the library."""
    try:
        return _encode(_alike(document)).encode("utf-8")
    except (_OnlyTheLibrary, UnicodeEncodeError):
        return rfc8785.dumps(document)


def _alike(value: Any) -> Any:
    """The value, with floats that are whole numbers as integers: 1.0 is written 1."""
    kind = type(value)
    if kind in _THE_SAME:
        return value
    if kind is int and -_LARGEST_INT <= value <= _LARGEST_INT:
        return value
    if kind is dict:
        _check_keys(value)
        return {k: v if type(v) in _THE_SAME else _alike(v) for k, v in value.items()}
    if kind is list or kind is tuple:
        return [_alike(v) for v in value]
    if kind is float:
        return _float(value)
    raise _OnlyTheLibrary


def _check_keys(document: dict[Any, Any]) -> None:
    try:
        text = "".join(document)
    except TypeError as error:
        raise _OnlyTheLibrary from error
    if not text.isascii():
        raise _OnlyTheLibrary


def _float(value: float) -> float | int:
    if value == 0 or (math.isfinite(value) and _SMALLEST_FLOAT <= abs(value) < _LARGEST_FLOAT):
        return int(value) if value.is_integer() else value
    raise _OnlyTheLibrary
