"""What one public load client keeps of its requests: the input of its formulas."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.analysis.absence import Absent
from assay.analysis.quantities import NS_PER_S
from assay.analysis.shelf import HeldShelf, Shelf

Instants = NDArray[np.int64]
Samples = NDArray[np.float64]
Mask = NDArray[np.bool_]
NO_INSTANTS: Instants = np.zeros(0, dtype=np.int64)
UNKNOWN = -1  # a token count that the tool's source does not give


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRows:
    """All requests as the tool keeps them, one entry of every column for each.

    ``timed`` says which have an instant: without one ``first_ns`` and ``last_ns`` mean nothing. ``events``
    counts them. ``gaps_of`` reads the times between the instants of chosen rows, some rows at a time, in s.
    """

    ok: Mask
    timed: Mask
    start_ns: Instants
    first_ns: Instants
    last_ns: Instants
    stop_ns: Instants
    events: Instants
    prompt_tokens: Instants
    output_tokens: Instants
    gaps_of: Callable[[Instants], Iterable[Samples]]
    numbers: Instants  # of the rows, as ``gaps_of`` knows them
    shelf: Shelf = field(default_factory=HeldShelf)

    def __len__(self) -> int:
        return len(self.ok)

    def only(self, chosen: Mask) -> "ToolRows":
        """The rows that are marked, in their order."""
        return ToolRows(
            ok=self.ok[chosen],
            timed=self.timed[chosen],
            start_ns=self.start_ns[chosen],
            first_ns=self.first_ns[chosen],
            last_ns=self.last_ns[chosen],
            stop_ns=self.stop_ns[chosen],
            events=self.events[chosen],
            prompt_tokens=self.prompt_tokens[chosen],
            output_tokens=self.output_tokens[chosen],
            gaps_of=self.gaps_of,
            numbers=self.numbers[chosen],
            shelf=self.shelf,
        )

    @property
    def latency_s(self) -> Samples:
        return (self.stop_ns - self.start_ns) / NS_PER_S

    @property
    def ttft_s(self) -> Samples:
        """0 where no token came: what tools with a plain number field keep."""
        return np.where(self.timed, (self.first_ns - self.start_ns) / NS_PER_S, 0.0)

    def gaps_s(self) -> Iterator[Samples]:
        yield from self.gaps_of(self.numbers)


def in_columns(rows: Sequence[ToolRow]) -> ToolRows:
    """Rows that are in memory."""

    def column(values: Iterable[int | None], missing: int = 0) -> Instants:
        return np.array([missing if v is None else v for v in values], dtype=np.int64)

    return ToolRows(
        ok=np.array([r.ok for r in rows], dtype=bool),
        timed=np.array([len(r.times_ns) > 0 for r in rows], dtype=bool),
        start_ns=column(r.start_ns for r in rows),
        first_ns=column(r.first_ns for r in rows),
        last_ns=column(r.last_ns for r in rows),
        stop_ns=column(r.stop_ns for r in rows),
        events=column(r.events for r in rows),
        prompt_tokens=column((r.prompt_tokens for r in rows), UNKNOWN),
        output_tokens=column((r.output_tokens for r in rows), UNKNOWN),
        gaps_of=lambda numbers: (np.diff(rows[n].times_ns) / NS_PER_S for n in numbers.tolist()),
        numbers=np.arange(len(rows)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The time over which a tool divides: by its own log, else from the first start to the last end."""

    from_ns: int
    to_ns: int

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / NS_PER_S


def span_of(rows: ToolRows) -> Span | Absent:
    """First start to last end of these rows."""
    if not len(rows):
        return Absent("no request")
    span = Span(from_ns=int(rows.start_ns.min()), to_ns=int(rows.stop_ns.max()))
    return span if span.to_ns > span.from_ns else Absent("no span between first start and last end")


def total_tokens(counts: Instants, words: str) -> int | Absent:
    """Their sum; Absent as soon as one is not known."""
    unknown = int(np.count_nonzero(counts == UNKNOWN))
    if unknown:
        return Absent(f"{words} of {unknown} request(s) are unknown")
    return int(counts.sum())
