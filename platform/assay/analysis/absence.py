"""Missing is not zero: a value that could not be had, with the reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Absent:
    """Stands where a value would; ``reason`` is one plain sentence for the reader."""

    reason: str
