"""The timeline of a run, one view per clock domain, at the level of detail that the shown range allows.

Intervals come from ``timeline.parquet``; they are read for the shown range only and thinned here, so that a
browser never gets more than a few thousand points. The rows below them come from ``timeline_rows``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from assay.archive.derived_schemas import ATTEMPTS, TIMELINE
from assay.pages.charts.timeline import KINDS, Bar, View
from assay.pages.contexts.head import RunHead
from assay.pages.contexts.step_tracks import StepRecord, step_record

NS = 1e9
MAX_LANES = 250  # more attempts than this in sight are counted, not drawn one by one
BINS = 400
TABLE_ROWS = 100
_TIMES = ("from_ns", "to_ns")
# The event that opens an interval says what it is; a component before the dot is left out.
CLIENT_KINDS = {
    "created": "client_send",
    "connect_start": "client_send",
    "connected": "client_send",
    "sent": "client_waiting",
    "first_byte": "client_waiting",
    "first_content": "client_streaming",
    "last_content": "client_streaming",
}
SERVER_KINDS = {
    "queued": "server_queued",
    "enqueued": "server_queued",
    "scheduled": "server_prefill",
    "running": "server_prefill",
    "prefill_done": "server_decode",
    "first_token": "server_decode",
    "front_written": "server_decode",
    "first_write": "server_decode",
    "front_disconnected": "server_decode",
}

# First tokens were out by then: between the queue and these lies a prefill that nobody stamped.
WRITTEN = ("first_token", "first_write", "front_written", "last_token", "finished")


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTimeline:
    """One clock domain of a run: where its rows are, and how far it reaches in ns of its own clock.

    ``bundle`` and ``client_origin_ns`` are given for the client's own domain, whose clock stamps scrapes and
    readings; ``steps`` where the engine's iterations are in this domain.
    """

    number: int
    domain: str
    origin_ns: int
    first_ns: int
    last_ns: int
    intervals: int
    attempts: int
    folder: Path
    has_server: bool = False
    steps: StepRecord | None = None
    bundle: Path | None = None
    client_origin_ns: int = 0

    @property
    def element(self) -> str:
        """The id of the element that holds its figure."""
        return f"figure-{self.number}"

    @property
    def extent(self) -> tuple[float, float]:
        return (self.first_ns - self.origin_ns) / NS, (self.last_ns - self.origin_ns) / NS

    def rows(self) -> pl.LazyFrame:
        """Its intervals in time order, each with its kind; times in ns of its clock."""
        path = self.folder / TIMELINE
        return (
            _intervals(path, path.stat().st_mtime_ns)
            .lazy()
            .filter(pl.col("clock_domain") == self.domain)
            .drop("clock_domain")
        )

    def within(self, start_s: float, end_s: float) -> pl.LazyFrame:
        """Intervals that touch the range."""
        low, high = (self.origin_ns + round(t * NS) for t in (start_s, end_s))
        return self.rows().filter((pl.col("to_ns") >= low) & (pl.col("from_ns") <= high))


@lru_cache(maxsize=3)
def _intervals(path: Path, _modified_ns: int) -> pl.DataFrame:
    """All intervals in time order, some twenty bytes each: a closer look asks for them again and again."""
    events = ("perspective", "start_event", "end_event")
    rows = pl.read_parquet(path, columns=["attempt_id", "clock_domain", "name", *_TIMES, *events])
    # Which kind a pair of events makes is told once a pair, not once an interval.
    kind = pl.when(pl.col("perspective") == "client").then(_client()).otherwise(_server())
    kinds = rows.select(events).unique().with_columns(kind.alias("kind"))
    told = rows.join(kinds, on=events, how="left", nulls_equal=True, maintain_order="left")
    texts = ("attempt_id", "clock_domain", "name", "kind")
    return (
        told.sort("from_ns", "attempt_id")
        .select("attempt_id", *_TIMES, "name", "kind", "clock_domain")
        .with_columns(pl.col(texts).cast(pl.Categorical))
    )


def _client() -> pl.Expr:
    return _event("start_event").replace_strict(CLIENT_KINDS, default="client_other")


def _server() -> pl.Expr:
    """By the event that opens the interval; a queue that no scheduling ends is not told from what follows."""
    opened = _event("start_event").replace_strict(SERVER_KINDS, default="server_other")
    ended = _event("end_event")
    unsplit = (opened == "server_queued") & ended.is_in(WRITTEN)
    return (
        pl.when(ended == "released")
        .then(pl.lit("server_held"))
        .when(unsplit)
        .then(pl.lit("server_unsplit"))
        .otherwise(opened)
    )


def _event(column: str) -> pl.Expr:
    return pl.col(column).str.split(".").list.last()


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalTable:
    """The first intervals of a range, in time order, and how many there are."""

    bars: list[Bar]
    total: int

    @property
    def more(self) -> int:
        return self.total - len(self.bars)


def domain_timelines(head: RunHead) -> list[DomainTimeline]:
    """One per clock domain, in order of the first interval; empty when nothing is on this machine."""
    path = head.reading.table(TIMELINE) if head.reading else None
    if path is None or head.reading is None:
        return []
    clocks = head.folder.clocks() if head.folder else None
    steps = step_record(path.parent)
    found = _domains(path, path.stat().st_mtime_ns)
    client = clocks["client_domain"] if clocks else None
    # A record that does not say whose clock it is in is the server's, where one is told apart.
    own = steps.clock_domain if steps and steps.clock_domain else _servers(found)
    return [
        DomainTimeline(
            number=number,
            domain=row.domain,
            # An interpretation counts from the run's origin; a recorded stream has its own zero.
            origin_ns=0 if clocks and clocks["origin_ns"] else row.first_ns,
            first_ns=row.first_ns,
            last_ns=row.last_ns,
            intervals=row.intervals,
            attempts=row.attempts,
            folder=path.parent,
            steps=replace(steps, clock_domain=own) if steps and row.domain == own else None,
            has_server=row.has_server,
            bundle=head.folder.folder if head.folder and row.domain == client else None,
            client_origin_ns=int(clocks["origin_ns"]) if clocks else 0,
        )
        for number, row in enumerate(found)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Domain:
    domain: str
    first_ns: int
    last_ns: int
    intervals: int
    attempts: int
    has_server: bool


@lru_cache(maxsize=64)
def _domains(path: Path, _modified_ns: int) -> tuple[_Domain, ...]:
    found = (
        pl.scan_parquet(path)
        .group_by("clock_domain")
        .agg(
            pl.col("from_ns").min().alias("first_ns"),
            pl.col("to_ns").max().alias("last_ns"),
            pl.len().alias("intervals"),
            pl.col("attempt_id").n_unique().alias("attempts"),
            (pl.col("perspective") == "server").any().alias("has_server"),
        )
        .rename({"clock_domain": "domain"})
        .sort("first_ns")
        .collect()
    )
    return tuple(_Domain(**row) for row in found.iter_rows(named=True))


def _servers(domains: Sequence[_Domain]) -> str | None:
    return next((row.domain for row in domains if row.has_server), None)


def range_of(
    timeline: DomainTimeline, from_s: float | None, to_s: float | None
) -> tuple[float, float]:
    """The asked range in seconds; all of it, with a margin, where none was asked."""
    low, high = timeline.extent
    margin = 0.01 * max(high - low, 1e-3)
    start = low - margin if from_s is None else from_s
    end = high + margin if to_s is None or to_s <= start else to_s
    return start, end


def view(timeline: DomainTimeline, from_s: float | None, to_s: float | None) -> View:
    """The lanes of ``from_s``..``to_s`` (all of it when None); rows below them are added by the caller."""
    start, end = range_of(timeline, from_s, to_s)
    shown = View(domain=timeline.domain, from_s=round(start, 6), to_s=round(end, 6))
    seen = timeline.within(start, end)
    if _has_many(timeline, seen):
        at, counts = count_bars(seen.collect(), timeline.origin_ns, start, end)
        return replace(shown, count_at_s=at, counts=counts)
    bars = bars_of(seen.collect(), timeline.origin_ns)
    lanes = list(dict.fromkeys(bar.attempt_id for bar in bars))
    return replace(shown, lanes=lanes, bars=[*bars, *_ghost_bars(timeline, lanes, start, end)])


def _has_many(timeline: DomainTimeline, seen: pl.LazyFrame) -> bool:
    if timeline.attempts <= MAX_LANES:
        return False
    return int(seen.select(pl.col("attempt_id").n_unique()).collect().item()) > MAX_LANES


def interval_table(timeline: DomainTimeline, start_s: float, end_s: float) -> IntervalTable:
    """The table behind a figure: the first intervals of its range."""
    seen = timeline.within(start_s, end_s)
    total = seen.select(pl.len()).collect().item()
    return IntervalTable(
        bars=bars_of(seen.head(TABLE_ROWS).collect(), timeline.origin_ns), total=total
    )


def bars_of(rows: pl.DataFrame, origin_ns: int) -> list[Bar]:
    """One bar an interval; a lane is the attempt's place in order of its first interval here."""
    lanes: dict[str, int] = {}
    bars = []
    for name, start, end, label, kind in rows.iter_rows():
        bars.append(
            Bar(
                kind=kind if kind in KINDS else "client_send",
                lane=lanes.setdefault(name, len(lanes)),
                from_s=round((start - origin_ns) / NS, 6),
                to_s=round((end - origin_ns) / NS, 6),
                attempt_id=name,
                label=f"{label} {(end - start) / 1e6:.3f} ms",
            )
        )
    return bars


def count_bars(
    rows: pl.DataFrame, origin_ns: int, start: float, end: float
) -> tuple[list[float], dict[str, list[int]]]:
    """How many attempts are in each kind of interval, per bin of the range."""
    width = (end - start) / BINS
    counts: dict[str, list[int]] = {}
    for kind in KINDS:
        own = rows.filter(pl.col("kind") == kind)
        if not own.height:
            continue
        first = _bin(own["from_ns"].to_numpy(), origin_ns, start, width)
        last = _bin(own["to_ns"].to_numpy(), origin_ns, start, width)
        change = np.bincount(first, minlength=BINS + 1) - np.bincount(last, minlength=BINS + 1)
        counts[kind] = np.cumsum(change)[:BINS].tolist()
    return [round(start + (i + 0.5) * width, 6) for i in range(BINS)], counts


def _bin(t_ns: np.ndarray, origin_ns: int, start: float, width: float) -> np.ndarray:
    place = np.rint(((t_ns - origin_ns) / NS - start) / width)
    return np.clip(place, 0, BINS).astype(np.int64)


def exported_rows(
    timeline: DomainTimeline, start_s: float, end_s: float
) -> Iterator[Sequence[object]]:
    """Every interval of the range, in time order, for a file."""
    rows = timeline.within(start_s, end_s).collect()
    for name, start, end, label, kind in rows.iter_rows():
        since = ((t - timeline.origin_ns) / NS for t in (start, end))
        yield timeline.domain, name, label, kind, *since


def _ghost_bars(
    timeline: DomainTimeline, lanes: list[str], start: float, end: float
) -> Iterator[Bar]:
    """Ghost load on the lanes that are shown; without a server in this domain its end is not in it."""
    path = timeline.folder / ATTEMPTS
    if not timeline.has_server or not lanes or not path.is_file():
        return
    place = {name: lane for lane, name in enumerate(lanes)}
    own = pl.scan_parquet(path).filter(
        pl.col("ghost") & pl.col("ghost_to_ns").is_not_null() & pl.col("attempt_id").is_in(lanes)
    )
    found = own.select("attempt_id", "ghost_from_ns", "ghost_to_ns").collect()
    for name, from_ns, to_ns in found.iter_rows():
        from_s, to_s = ((t - timeline.origin_ns) / NS for t in (from_ns, to_ns))
        if to_s >= start and from_s <= end:
            yield Bar(
                kind="ghost",
                lane=place[name],
                from_s=round(from_s, 6),
                to_s=round(to_s, 6),
                attempt_id=name,
                label=f"ghost load {(to_ns - from_ns) / 1e6:.3f} ms",
            )
