"""Rows of the timeline from the engine's iterations: tokens of each step, requests, KV blocks.

Up to ``MAX_POINTS`` iterations in sight are drawn one by one; more become the mean and most of equal bins.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl
from django.utils.translation import gettext as _

from assay.analysis.events import Fact
from assay.archive.derived_schemas import EVENTS, ITERATIONS
from assay.pages.charts.tracks import Line, Track

NS = 1e9
MAX_POINTS = 1500
_BLOCKS = ("kv_used_blocks",)
_TOKENS = ("prefill_tokens", "decode_tokens")
_REQUESTS = ("batch", "running", "waiting")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """Whose clock a run's iterations are in, and how well their times are known."""

    clock_domain: str
    error_ns: int
    total_blocks: int | None


def step_record(folder: Path) -> StepRecord | None:
    """None where the reading holds no iteration."""
    path = folder / ITERATIONS
    if not path.is_file():
        return None
    return _step_record(folder, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _step_record(folder: Path, _modified_ns: int) -> StepRecord | None:
    steps = pl.scan_parquet(folder / ITERATIONS)
    seen = steps.select(pl.len().alias("n"), pl.col("kv_total_blocks").max()).collect().row(0)
    if not seen[0]:
        return None
    domain, error = "", 0
    if (folder / EVENTS).is_file():
        own = pl.scan_parquet(folder / EVENTS).filter(pl.col("fact") == Fact.iteration.value)
        found = own.select(pl.col("clock_domain").first(), pl.col("error_ns").max()).collect()
        domain, error = found.row(0) if found.height else ("", 0)
    return StepRecord(clock_domain=domain or "", error_ns=error or 0, total_blocks=seen[1])


def step_tracks(
    folder: Path, record: StepRecord, *, origin_ns: int, start_s: float, end_s: float
) -> list[Track]:
    """What the iterations that began in the range show; a series that was not recorded is left out."""
    rows = _in_range(folder, origin_ns=origin_ns, start_s=start_s, end_s=end_s)
    binned = rows.height > MAX_POINTS
    if binned:
        rows = _binned(rows, origin_ns, start_s, end_s)
    at_s = ((rows["start_ns"] - origin_ns) / NS).round(6).to_list()

    def track(key: str, title: str, unit: str, lines: list[Line], *, is_stacked: bool) -> Track:
        return Track(
            key=key,
            title=title,
            unit=unit,
            source=ITERATIONS,
            clock_domain=record.clock_domain,
            at_s=at_s,
            lines=lines,
            is_stacked=is_stacked,
            binned=binned,
            error_ns=record.error_ns,
        )

    total = record.total_blocks
    blocks = _("KV blocks of {n}").format(n=total) if total else _("KV blocks")
    tokens, requests = _lines(rows, _TOKENS), _lines(rows, _REQUESTS)
    found = [
        track("step_tokens", _("step composition"), _("tokens"), tokens, is_stacked=True),
        track("step_requests", _("requests per step"), _("requests"), requests, is_stacked=False),
        track("kv_blocks", blocks, _("blocks"), _lines(rows, _BLOCKS), is_stacked=False),
    ]
    return [row for row in found if row.lines]


def _in_range(folder: Path, *, origin_ns: int, start_s: float, end_s: float) -> pl.DataFrame:
    steps = pl.scan_parquet(folder / ITERATIONS)
    known = steps.collect_schema().names()
    wanted = [name for name in (*_TOKENS, *_REQUESTS, *_BLOCKS) if name in known]
    low, high = origin_ns + round(start_s * NS), origin_ns + round(end_s * NS)
    return (
        steps.filter(pl.col("start_ns").is_between(low, high))
        .select("start_ns", *wanted)
        .sort("start_ns")
        .collect()
    )


def _binned(rows: pl.DataFrame, origin_ns: int, start_s: float, end_s: float) -> pl.DataFrame:
    """Equal bins counted from the start of the range, each with the mean and the most of its steps."""
    width_ns = max(1, round((end_s - start_s) * NS / MAX_POINTS))
    low = origin_ns + round(start_s * NS)
    names = rows.columns[1:]
    return (
        rows.group_by((pl.col("start_ns") - low) // width_ns, maintain_order=True)
        .agg(
            *(pl.col(name).mean().round(4) for name in names),
            *(pl.col(name).max().alias(f"{name}.most") for name in names),
        )
        .with_columns(pl.col("start_ns") * width_ns + low)
    )


def _lines(rows: pl.DataFrame, names: tuple[str, ...]) -> list[Line]:
    found = []
    for name in names:
        if name in rows.columns and rows[name].drop_nulls().len():
            most = f"{name}.most"
            peak = rows[most].to_list() if most in rows.columns and name not in _TOKENS else None
            found.append(Line(label=_WORDS[name](), values=rows[name].to_list(), peak=peak))
    return found


_WORDS = {
    "prefill_tokens": lambda: _("prefill"),
    "decode_tokens": lambda: _("decode"),
    "batch": lambda: _("in the step"),
    "running": lambda: _("running"),
    "waiting": lambda: _("waiting"),
    "kv_used_blocks": lambda: _("used"),
}
