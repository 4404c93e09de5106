"""Carry wall times of this machine onto its monotonic clock, by anchors that read both together.

The wall clock may be stepped or slewed: each time is mapped by the anchor nearest to it, and its error bound
is what the neighbouring anchors disagree by, with the spread of the anchors' own readings.
"""

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """A monotonic time, right to within ``error_ns`` either way."""

    t_ns: int
    error_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMap:
    """Anchors in order of wall time: ``walls`` and their ``offsets`` (monotonic - wall), ns."""

    walls: tuple[int, ...]
    offsets: tuple[int, ...]
    spreads: tuple[int, ...]

    @classmethod
    def of(cls, anchors: Sequence[Mapping[str, Any]]) -> Self | None:
        """None without an anchor: then nothing can be mapped."""
        if not anchors:
            return None
        rows = sorted(
            (int(a["wall_ns"]), int(a["monotonic_ns"]) - int(a["wall_ns"]), int(a["spread_ns"]))
            for a in anchors
        )
        walls, offsets, spreads = zip(*rows, strict=True)
        return cls(walls=walls, offsets=offsets, spreads=spreads)

    def monotonic(self, wall_ns: int) -> Mapped:
        at = bisect.bisect_left(self.walls, wall_ns)
        near = [i for i in (at - 1, at) if 0 <= i < len(self.walls)]
        chosen = min(near, key=lambda i: abs(self.walls[i] - wall_ns))
        offsets = [self.offsets[i] for i in near]
        return Mapped(
            t_ns=wall_ns + self.offsets[chosen],
            error_ns=max(offsets) - min(offsets) + max(self.spreads[i] for i in near),
        )
