"""The timeline of a run, one view per clock domain, at the level of detail that the shown range allows."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from assay.analysis.documents import AttemptReading, InterpretationDocument, LedgerRow
from assay.pages.charts.timeline import Bar, Steps, View
from assay.pages.joined import ends_by_subject
from assay.pages.reading import Reading

NS = 1e9
MAX_LANES = 250  # more attempts than this in sight are counted, not drawn one by one
MAX_STEPS = 1500  # more iterations than this in sight are binned
BINS = 400
_SERVER_KINDS = {"received": "server_other", "queued": "server_queued", "running": "server_decode"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTimeline:
    """Everything of one clock domain, in seconds from ``origin_ns``; thinned only when it is viewed."""

    domain: str
    origin_ns: int
    bars: tuple[Bar, ...]  # ``lane`` is the place in order of the first interval
    steps: Steps | None

    @property
    def extent(self) -> tuple[float, float]:
        ends = [bar.to_s for bar in self.bars] or [1.0]
        starts = [bar.from_s for bar in self.bars] or [0.0]
        return min(starts), max(ends)


def domain_timelines(reading: Reading) -> tuple[DomainTimeline, ...]:
    """One per clock domain, the client's first; empty when nothing is on this machine."""
    path = reading.table("interpretation.json")
    return _timelines(reading.folder, path.stat().st_mtime_ns) if path else ()


@lru_cache(maxsize=4)
def _timelines(folder: Path, _modified_ns: int) -> tuple[DomainTimeline, ...]:
    reading = Reading(folder=folder)
    document = reading.document()
    if document is None:
        return ()
    client_domains, server_domains = _domains(document)
    bars: dict[str, list[tuple[str, int, int, str]]] = defaultdict(list)
    for attempt in document["attempts"]:
        domain = client_domains.get(attempt["attempt_id"], "client clock")
        bars[domain] += _client_bars(attempt)
    firsts = _first_tokens(document)
    for subject, rows in ends_by_subject(document["ledgers"]["server"]).items():
        bars[server_domains.get(subject, "")] += _server_bars(rows, firsts.get(subject))
    for ghost in document["ghost_load"]:
        if ghost["to_ns"] is not None:
            domain = server_domains.get(ghost["attempt_id"], "")
            bars[domain].append(
                ("ghost", ghost["from_ns"], ghost["to_ns"], ghost["attempt_id"])
            )
    bars.pop("", None)
    steps_domain = next(iter(server_domains.values()), next(iter(bars), ""))
    return tuple(
        _domain(domain, own, _steps_table(reading) if domain == steps_domain else None)
        for domain, own in bars.items()
        if own
    )


def view(timeline: DomainTimeline, from_s: float | None, to_s: float | None) -> View:
    """What is drawn of ``from_s``..``to_s`` (all of it when None)."""
    low, high = timeline.extent
    margin = 0.01 * max(high - low, 1e-3)
    start = low - margin if from_s is None else from_s
    end = high + margin if to_s is None or to_s <= start else to_s
    seen = [bar for bar in timeline.bars if bar.to_s >= start and bar.from_s <= end]
    lanes = sorted({bar.lane for bar in seen})
    shown = View(
        domain=timeline.domain,
        from_s=start,
        to_s=end,
        steps=thin_steps(timeline.steps, start, end) if timeline.steps else None,
    )
    if len(lanes) > MAX_LANES:
        at, counts = count_bars(seen, start, end)
        return replace(shown, count_at_s=at, counts=counts)
    place = {lane: index for index, lane in enumerate(lanes)}
    names = {bar.lane: bar.attempt_id for bar in seen}
    return replace(
        shown,
        lanes=[names[lane] for lane in lanes],
        bars=[replace(bar, lane=place[bar.lane]) for bar in seen],
    )


def count_bars(
    bars: Sequence[Bar], start: float, end: float
) -> tuple[list[float], dict[str, list[int]]]:
    """How many attempts are in each kind of interval at the middle of each bin."""
    width = (end - start) / BINS
    changes: dict[str, list[int]] = {}
    for bar in bars:
        first = max(0, round((bar.from_s - start) / width))
        last = min(BINS, round((bar.to_s - start) / width))
        if last <= first:
            continue
        change = changes.setdefault(bar.kind, [0] * (BINS + 1))
        change[first] += 1
        change[last] -= 1
    counts: dict[str, list[int]] = {}
    for kind, change in changes.items():
        running, levels = 0, []
        for delta in change[:BINS]:
            running += delta
            levels.append(running)
        counts[kind] = levels
    return [round(start + (i + 0.5) * width, 6) for i in range(BINS)], counts


def thin_steps(steps: Steps, start: float, end: float) -> Steps:
    """Iterations in range; more than ``MAX_STEPS`` become the means of equal bins."""
    inside = [i for i, at in enumerate(steps.at_s) if start <= at <= end]
    series = (steps.running, steps.waiting, steps.kv_used)
    if len(inside) <= MAX_STEPS:
        running, waiting, kv = ([values[i] for i in inside] for values in series)
        return replace(
            steps,
            at_s=[steps.at_s[i] for i in inside],
            running=running,
            waiting=waiting,
            kv_used=kv,
        )
    groups: dict[int, list[int]] = defaultdict(list)
    width = (end - start) / MAX_STEPS
    for i in inside:
        groups[int((steps.at_s[i] - start) / width)].append(i)
    running, waiting, kv = ([_mean(values, g) for g in groups.values()] for values in series)
    return replace(
        steps,
        at_s=[steps.at_s[group[0]] for group in groups.values()],
        running=running,
        waiting=waiting,
        kv_used=kv,
        binned=True,
    )


def _mean(values: Sequence[float | None], group: Sequence[int]) -> float | None:
    known = [value for i in group if (value := values[i]) is not None]
    return round(sum(known) / len(known), 4) if known else None


def _domains(document: InterpretationDocument) -> tuple[dict[str, str], dict[str, str]]:
    ledgers = document["ledgers"]
    client = {row["subject"]: row["clock_domain"] for row in ledgers["client"]}
    server = {
        row["subject"]: row["clock_domain"]
        for row in ledgers["server"]
        if row["from_ns"] is not None
    }
    return client, server


def _client_bars(attempt: AttemptReading) -> list[tuple[str, int, int, str]]:
    times, name = attempt["timestamps_ns"], attempt["attempt_id"]
    sent, content = times.get("sent"), times.get("first_content_event")
    ends = (times.get("last_content"), times.get("done"), times.get("first_byte"))
    last = max((t for t in ends if t is not None), default=None)
    if sent is None or last is None:
        return []
    if content is None:
        return [("client_waiting", sent, last, name)]
    return [("client_waiting", sent, content, name), ("client_streaming", content, last, name)]


def _server_bars(
    rows: list[LedgerRow], first_token_ns: int | None
) -> list[tuple[str, int, int, str]]:
    bars = []
    for row in rows:
        start, end, kind = row["from_ns"], row["to_ns"], _SERVER_KINDS.get(row["state"])
        if start is None or end is None or kind is None:
            continue
        if kind == "server_decode" and first_token_ns and start < first_token_ns < end:
            bars.append(("server_prefill", start, first_token_ns, row["subject"]))
            start = first_token_ns
        bars.append((kind, start, end, row["subject"]))
    return bars


def _first_tokens(document: InterpretationDocument) -> dict[str, int]:
    return {
        lane["attempt_id"]: interval["from_ns"]
        for lane in document["lanes"]
        if lane["perspective"] == "server"
        for interval in lane["intervals"]
        if interval["start_event"].endswith("first_token")
    }


def _steps_table(reading: Reading) -> pl.DataFrame | None:
    path = reading.table("iterations.parquet")
    return pl.read_parquet(path).sort("start_ns") if path else None


def _domain(
    domain: str, raw: list[tuple[str, int, int, str]], table: pl.DataFrame | None
) -> DomainTimeline:
    origin = min(start for _, start, _, _ in raw)
    order: dict[str, int] = {}
    for _, _, _, name in sorted(raw, key=lambda bar: bar[1]):
        order.setdefault(name, len(order))
    return DomainTimeline(
        domain=domain,
        origin_ns=origin,
        bars=tuple(
            Bar(
                kind=kind,
                lane=order[name],
                from_s=round((start - origin) / NS, 6),
                to_s=round((end - origin) / NS, 6),
                attempt_id=name,
                label=f"{(end - start) / 1e6:.3f} ms",
            )
            for kind, start, end, name in raw
        ),
        steps=_steps(table, origin) if table is not None and table.height else None,
    )


def _steps(table: pl.DataFrame, origin_ns: int) -> Steps:
    def column(name: str) -> list[float | None]:
        return table[name].to_list() if name in table.columns else [None] * table.height

    totals = [total for total in column("kv_total") if total is not None]
    return Steps(
        at_s=[round((t - origin_ns) / NS, 6) for t in table["start_ns"].to_list()],
        running=column("running"),
        waiting=column("waiting"),
        kv_used=column("kv_used"),
        kv_total=int(totals[-1]) if totals else None,
    )
