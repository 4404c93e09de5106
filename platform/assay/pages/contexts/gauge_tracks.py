"""Rows of the timeline from scraped gauges, under the engine's own names.

A scrape belongs to some moment between its send and its answer; it is drawn at the send. Scrapes are long
texts, so only some of them, evenly spaced over the range, are read; looking closer reads the ones between.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from assay.pages.charts.tracks import Line, Shown, Track
from runners.protocol import layout

MAX_SCRAPES = 240
MAX_LABELS = 4  # a gauge with more label sets than this is drawn as its sum
_GAUGE = re.compile(r"^# TYPE (\S+) gauge\s*$", re.MULTILINE)
_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)")
# What an engine's load shows in, most telling first; these gauges are drawn unless others are chosen.
_TELLING = ("running", "waiting", "queue", "cache_usage", "token_usage", "blocks_used")
_NO_READING = ("_created", "_info")  # when a series began, and labels alone
PREFIX = "gauge:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One gauge of the engine's text. ``place`` orders those drawn by default; None: drawn when asked for."""

    name: str
    place: int | None

    @property
    def key(self) -> str:
        return PREFIX + self.name


def gauges(bundle: Path | None) -> list[Gauge]:
    """Gauges of the run's last good scrape, by name; none where nothing was scraped."""
    path = bundle / layout.SCRAPES if bundle else None
    if path is None or not path.is_file():
        return []
    return [Gauge(name=name, place=_place(name)) for name in _gauge_names(path)]


def _place(name: str) -> int | None:
    return next((place for place, word in enumerate(_TELLING) if word in name), None)


def gauge_tracks(bundle: Path, names: Sequence[str], shown: Shown) -> list[Track]:
    """One row a gauge. ``shown`` is on the client's clock, which stamps the scrapes."""
    path = bundle / layout.SCRAPES
    if not names or not path.is_file():
        return []
    times = _times(path)
    inside = [number for number, t_ns in enumerate(times) if shown.low_ns <= t_ns <= shown.high_ns]
    if not inside:
        return []
    chosen = tuple(_spread(inside, MAX_SCRAPES))
    read = _read(path, chosen, tuple(names))
    at_s = [shown.seconds(times[number]) for number in chosen]
    found = []
    for name in names:
        lines = _lines([scrape.get(name, {}) for scrape in read])
        if lines:
            found.append(
                Track(
                    key=PREFIX + name,
                    title=name,
                    unit="",
                    source=layout.SCRAPES,
                    clock_domain=shown.domain,
                    at_s=at_s,
                    lines=lines,
                    binned=False,
                    error_ns=_slowest(path),
                    note=f"{len(chosen)}/{len(inside)}" if len(chosen) < len(inside) else "",
                )
            )
    return found


@lru_cache(maxsize=32)
def _gauge_names(path: Path) -> tuple[str, ...]:
    good = pl.scan_parquet(path).filter(pl.col("status") == 200).select("body")
    last = good.tail(1).collect()["body"]
    names = _GAUGE.findall(last[0] or "") if last.len() else []
    return tuple(sorted(name for name in names if not name.endswith(_NO_READING)))


@lru_cache(maxsize=32)
def _times(path: Path) -> tuple[int, ...]:
    return tuple(pl.scan_parquet(path).select("t_ns").collect()["t_ns"].to_list())


@lru_cache(maxsize=32)
def _slowest(path: Path) -> int:
    longest = pl.scan_parquet(path).select(pl.col("duration_ns").max()).collect().item()
    return int(longest or 0)


def _spread(numbers: Sequence[int], most: int) -> list[int]:
    if len(numbers) <= most:
        return list(numbers)
    step = (len(numbers) - 1) / (most - 1)
    return [numbers[round(place * step)] for place in range(most)]


@lru_cache(maxsize=24)
def _read(
    path: Path, numbers: tuple[int, ...], names: tuple[str, ...]
) -> tuple[dict[str, dict[str, float]], ...]:
    """Per scrape: gauge -> label set -> value. A scrape that failed holds nothing."""
    rows = pl.scan_parquet(path).select("body").with_row_index("number")
    bodies = rows.filter(pl.col("number").is_in(numbers)).collect()["body"]
    return tuple(values(body or "", names) for body in bodies)


def values(text: str, names: Iterable[str]) -> dict[str, dict[str, float]]:
    """The samples of these gauges in one Prometheus text; what is no number is left out."""
    wanted = set(names)
    found: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        sample = _SAMPLE.match(line)
        if sample is None or sample[1] not in wanted:
            continue
        try:
            value = float(sample[3])
        except ValueError:
            continue
        if value == value and abs(value) != float("inf"):
            found.setdefault(sample[1], {})[sample[2] or ""] = value
    return found


def _lines(scrapes: Sequence[dict[str, float]]) -> list[Line]:
    labels = list(dict.fromkeys(label for scrape in scrapes for label in scrape))
    if not labels:
        return []
    if len(labels) > MAX_LABELS:
        summed = [sum(scrape.values()) if scrape else None for scrape in scrapes]
        return [Line(label=f"sum of {len(labels)} series", values=summed)]
    return [
        Line(label=label or "value", values=[scrape.get(label) for scrape in scrapes])
        for label in labels
    ]
