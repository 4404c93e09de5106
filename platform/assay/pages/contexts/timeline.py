"""The timeline of a run, one view per clock domain, at the level of detail that the shown range allows.

Intervals come from ``timeline.parquet``, iterations from ``iterations.parquet``; both are read for the shown
range only and thinned here, so that a browser never gets more than a few thousand points.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from assay.analysis.documents import GhostLoad
from assay.pages.charts.timeline import KINDS, Bar, Steps, View
from assay.pages.contexts.head import RunHead

NS = 1e9
MAX_LANES = 250  # more attempts than this in sight are counted, not drawn one by one
MAX_STEPS = 1500  # more iterations than this in sight are binned
BINS = 400
TABLE_ROWS = 500
FEW_LANES = 4
TIMELINE = "timeline.parquet"
ITERATIONS = "iterations.parquet"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTimeline:
    """One clock domain of a run: where its rows are, and how far it reaches in ns of its own clock."""

    number: int
    domain: str
    origin_ns: int
    first_ns: int
    last_ns: int
    intervals: int
    attempts: int
    folder: Path
    has_steps: bool
    ghosts: tuple[GhostLoad, ...]

    @property
    def element(self) -> str:
        """The id of the element that holds its figure."""
        return f"figure-{self.number}"

    @property
    def height(self) -> str:
        """How much room the figure gets before it is drawn."""
        if self.has_steps:
            return "tall"
        return "medium" if self.attempts > FEW_LANES else "low"

    @property
    def extent(self) -> tuple[float, float]:
        return (self.first_ns - self.origin_ns) / NS, (self.last_ns - self.origin_ns) / NS

    @property
    def first_bars(self) -> list[Bar]:
        """The first rows of the table behind the figure."""
        return bars_of(self.rows().head(TABLE_ROWS).collect(), self.origin_ns)

    @property
    def more_bars(self) -> int:
        return max(0, self.intervals - TABLE_ROWS)

    def rows(self) -> pl.LazyFrame:
        """Its intervals in time order, each with its kind, seconds apart from the origin not yet taken."""
        start = pl.col("start_event").str.split(".").list.last()
        client = start.replace_strict(CLIENT_KINDS, default="client_other")
        server = start.replace_strict(SERVER_KINDS, default="server_other")
        return (
            pl.scan_parquet(self.folder / TIMELINE)
            .filter(pl.col("clock_domain") == self.domain)
            .select(
                "attempt_id",
                "from_ns",
                "to_ns",
                "name",
                pl.when(pl.col("perspective") == "client")
                .then(client)
                .otherwise(server)
                .alias("kind"),
            )
            .sort("from_ns", "attempt_id")
        )


def domain_timelines(head: RunHead) -> list[DomainTimeline]:
    """One per clock domain, in order of the first interval; empty when nothing is on this machine."""
    path = head.reading.table(TIMELINE) if head.reading else None
    if path is None or head.reading is None:
        return []
    ghosts = head.reading.stored.ghosts()
    clocks = head.folder.clocks() if head.folder else None
    found = (
        pl.scan_parquet(path)
        .group_by("clock_domain")
        .agg(
            pl.col("from_ns").min().alias("first"),
            pl.col("to_ns").max().alias("last"),
            pl.len().alias("n"),
            pl.col("attempt_id").n_unique().alias("attempts"),
            (pl.col("perspective") == "server").any().alias("server"),
        )
        .sort("first")
        .collect()
    )
    steps_path = head.reading.table(ITERATIONS)
    has_steps = (
        steps_path is not None and not pl.scan_parquet(steps_path).head(1).collect().is_empty()
    )
    return [
        DomainTimeline(
            number=number,
            domain=row["clock_domain"],
            # An interpretation counts from the run's origin; a recorded stream has its own zero.
            origin_ns=0 if clocks and clocks["origin_ns"] else row["first"],
            first_ns=row["first"],
            last_ns=row["last"],
            intervals=row["n"],
            attempts=row["attempts"],
            folder=path.parent,
            has_steps=row["server"] and has_steps,
            ghosts=tuple(g for g in ghosts if row["server"] and g["to_ns"] is not None),
        )
        for number, row in enumerate(found.iter_rows(named=True))
    ]


def view(timeline: DomainTimeline, from_s: float | None, to_s: float | None) -> View:
    """What is drawn of ``from_s``..``to_s`` (all of it when None)."""
    low, high = timeline.extent
    margin = 0.01 * max(high - low, 1e-3)
    start = low - margin if from_s is None else from_s
    end = high + margin if to_s is None or to_s <= start else to_s
    origin = timeline.origin_ns
    seen = (
        timeline.rows()
        .filter(
            (pl.col("to_ns") >= origin + round(start * NS))
            & (pl.col("from_ns") <= origin + round(end * NS))
        )
        .collect()
    )
    shown = View(
        domain=timeline.domain,
        from_s=round(start, 6),
        to_s=round(end, 6),
        steps=steps(timeline, start, end) if timeline.has_steps else None,
    )
    if seen["attempt_id"].n_unique() > MAX_LANES:
        at, counts = count_bars(seen, origin, start, end)
        return replace(shown, count_at_s=at, counts=counts)
    bars = bars_of(seen, origin)
    lanes = list(dict.fromkeys(bar.attempt_id for bar in bars))
    return replace(shown, lanes=lanes, bars=[*bars, *_ghost_bars(timeline, lanes, start, end)])


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
    for (kind,), own in rows.group_by("kind", maintain_order=True):
        first = _bin(own["from_ns"].to_numpy(), origin_ns, start, width)
        last = _bin(own["to_ns"].to_numpy(), origin_ns, start, width)
        change = np.zeros(BINS + 1, dtype=np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, last, -1)
        counts[str(kind)] = np.cumsum(change)[:BINS].tolist()
    return [round(start + (i + 0.5) * width, 6) for i in range(BINS)], counts


def _bin(t_ns: np.ndarray, origin_ns: int, start: float, width: float) -> np.ndarray:
    place = np.rint(((t_ns - origin_ns) / NS - start) / width)
    return np.clip(place, 0, BINS).astype(np.int64)


def steps(timeline: DomainTimeline, start: float, end: float) -> Steps:
    """Iterations in range; more than ``MAX_STEPS`` become the means of equal bins."""
    origin = timeline.origin_ns
    table = (
        pl.scan_parquet(timeline.folder / ITERATIONS)
        .filter(pl.col("start_ns").is_between(origin + round(start * NS), origin + round(end * NS)))
        .select("start_ns", "batch", "waiting", "kv_used_blocks", "kv_total_blocks")
        .sort("start_ns")
        .collect()
    )
    total = table["kv_total_blocks"].drop_nulls()
    binned = table.height > MAX_STEPS
    if binned:
        width_ns = max(1, round((end - start) * NS / MAX_STEPS))
        table = (
            table.group_by(pl.col("start_ns") // width_ns, maintain_order=True)
            .agg(pl.col("batch", "waiting", "kv_used_blocks").mean().round(4))
            .with_columns(pl.col("start_ns") * width_ns)
        )
    return Steps(
        at_s=((table["start_ns"] - origin) / NS).round(6).to_list(),
        running=table["batch"].to_list(),
        waiting=table["waiting"].to_list(),
        kv_used=table["kv_used_blocks"].to_list(),
        kv_total=int(total[-1]) if total.len() else None,
        binned=binned,
    )


def exported_rows(timeline: DomainTimeline) -> Iterator[Sequence[object]]:
    """Every interval of the domain, for a file."""
    for name, start, end, label, kind in timeline.rows().collect().iter_rows():
        since = ((t - timeline.origin_ns) / NS for t in (start, end))
        yield timeline.domain, name, label, kind, *since


def _ghost_bars(
    timeline: DomainTimeline, lanes: list[str], start: float, end: float
) -> Iterator[Bar]:
    place = {name: lane for lane, name in enumerate(lanes)}
    for ghost in timeline.ghosts:
        to_ns = ghost["to_ns"]
        if ghost["attempt_id"] not in place or to_ns is None:
            continue
        from_s = (ghost["from_ns"] - timeline.origin_ns) / NS
        to_s = (to_ns - timeline.origin_ns) / NS
        if to_s >= start and from_s <= end:
            yield Bar(
                kind="ghost",
                lane=place[ghost["attempt_id"]],
                from_s=round(from_s, 6),
                to_s=round(to_s, 6),
                attempt_id=ghost["attempt_id"],
                label=f"ghost load {(to_ns - ghost['from_ns']) / 1e6:.3f} ms",
            )
