"""Times and their units: as people write them, and how many ns a second has."""

import re

from assay.analysis.errors import BadRecord

NS_PER_S = 1_000_000_000
_NS_OF = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": NS_PER_S, "m": 60 * NS_PER_S}
_DURATION = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m)\s*$")


def duration_ns(text: str, *, field: str) -> int:
    """``500ms``, ``1.5s``, ``50us``, ``20ns`` or ``2m`` in ns. A bare number is refused: it has no unit."""
    match = _DURATION.match(text)
    if match is None:
        raise BadRecord(
            field=field,
            seen=repr(text),
            allowed="a number with one of the units ns, us, ms, s, m",
            remedy="Write for example 500ms.",
        )
    return round(float(match[1]) * _NS_OF[match[2]])


def instant_ns(text: str, *, field: str) -> int:
    """An instant: whole ns as they stand in the input, or a number with a unit."""
    if re.fullmatch(r"\s*-?\d+\s*", text):
        return int(text)
    return duration_ns(text, field=field)
