"""What one public load client keeps of one request: the input of its formulas."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.analysis.absence import Absent
from assay.analysis.quantities import NS_PER_S

Instants = NDArray[np.int64]
Samples = NDArray[np.float64]
NO_INSTANTS: Instants = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow:
    """One request as the tool keeps it; times are ns of one clock.

    ``ok`` is the tool's own word for success. ``times_ns`` are the instants that the tool takes for tokens;
    where it keeps the first and the last only, ``counted_events`` says how many there were. ``end_ns`` is
    where its latency ends (None: at the last of ``times_ns``). Token counts are those of the tool's source;
    None means that the source gave none.
    """

    ok: bool
    start_ns: int
    times_ns: Instants = field(default_factory=lambda: NO_INSTANTS)
    counted_events: int | None = None
    end_ns: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def events(self) -> int:
        return len(self.times_ns) if self.counted_events is None else self.counted_events

    @property
    def first_ns(self) -> int | None:
        return int(self.times_ns[0]) if len(self.times_ns) else None

    @property
    def last_ns(self) -> int | None:
        return int(self.times_ns[-1]) if len(self.times_ns) else None

    @property
    def stop_ns(self) -> int:
        """Where the tool's latency of this request ends; its start, if nothing came."""
        last = self.end_ns if self.end_ns is not None else self.last_ns
        return self.start_ns if last is None else last

    @property
    def latency_s(self) -> float:
        return (self.stop_ns - self.start_ns) / NS_PER_S

    @property
    def ttft_s(self) -> float:
        """0 where no token came: what tools with a plain number field keep."""
        first = self.first_ns
        return 0.0 if first is None else (first - self.start_ns) / NS_PER_S

    @property
    def gaps_s(self) -> Samples:
        return np.diff(self.times_ns) / NS_PER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The time over which a tool divides: by its own log, else from the first start to the last end."""

    from_ns: int
    to_ns: int

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / NS_PER_S


def span_of(rows: Iterable[ToolRow]) -> Span | Absent:
    """First start to last end of these rows."""
    known = list(rows)
    if not known:
        return Absent("no request")
    span = Span(from_ns=min(r.start_ns for r in known), to_ns=max(r.stop_ns for r in known))
    return span if span.to_ns > span.from_ns else Absent("no span between first start and last end")


def total_tokens(counts: Iterable[int | None], words: str) -> int | Absent:
    """Their sum; Absent as soon as one is not known."""
    total = unknown = 0
    for count in counts:
        if count is None:
            unknown += 1
        else:
            total += count
    if unknown:
        return Absent(f"{words} of {unknown} request(s) are unknown")
    return total
