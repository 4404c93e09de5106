"""Rows of the timeline from readings of the host: cores in use, memory, and power where it is measured.

The kernel's counters are running totals; what is drawn between two readings is their difference over the time
between them. A reading that a machine does not give is no row, never a zero.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assay.pages.charts.tracks import Line, Shown, Track
from runners.protocol import layout

NS = 1e9
GIB = 2**30
MAX_POINTS = 800
_BUSY = ("cpu_user_s", "cpu_nice_s", "cpu_system_s", "cpu_irq_s", "cpu_softirq_s")
_OWN = ("cpu_user_s", "cpu_system_s")
_PROCESSES = ("engine", "client", "sampler")
_POWER_UNITS = ("W", "J")  # a gauge of power, a counter of energy
_WORDS = {
    "host": gettext_lazy("host"),
    "engine": gettext_lazy("engine"),
    "client": gettext_lazy("load client"),
    "sampler": gettext_lazy("sampler"),
    "resident": gettext_lazy("engine resident"),
    "available": gettext_lazy("host available"),
}
_TITLES: Mapping[str, Callable[[], tuple[str, str]]] = {
    "cpu": lambda: (_("cores in use"), _("cores")),
    "memory": lambda: (_("memory"), "GiB"),
    "power": lambda: (_("power"), "W"),
}

Series = Mapping[int, float]  # instant -> value


def telemetry_keys(bundle: Path | None) -> list[str]:
    """Rows that this run's readings can give, in the order in which they stand."""
    return list(_series(bundle / layout.TELEMETRY)) if bundle and _has(bundle) else []


def telemetry_title(key: str) -> str:
    return _TITLES[key]()[0]


def telemetry_tracks(bundle: Path, keys: Sequence[str], shown: Shown) -> list[Track]:
    """``shown`` is on the client's clock, which stamps the readings."""
    if not _has(bundle):
        return []
    found = _series(bundle / layout.TELEMETRY)
    tracks = []
    for key in keys:
        lines = _clipped(found.get(key, {}), shown)
        if not lines:
            continue
        at = sorted({t_ns for line in lines.values() for t_ns in line})
        at = at[:: max(1, -(-len(at) // MAX_POINTS))]
        title, unit = _TITLES[key]()
        tracks.append(
            Track(
                key=key,
                title=title,
                unit=unit,
                source=layout.TELEMETRY,
                clock_domain=shown.domain,
                at_s=[shown.seconds(t_ns) for t_ns in at],
                lines=[
                    Line(label=str(_WORDS.get(name, name)), values=[line.get(t) for t in at])
                    for name, line in lines.items()
                ],
                is_engines=False,
                is_stepped=key == "cpu",
            )
        )
    return tracks


def _has(bundle: Path) -> bool:
    return (bundle / layout.TELEMETRY).is_file()


@lru_cache(maxsize=16)
def _series(path: Path) -> dict[str, dict[str, Series]]:
    """Row -> line -> instant -> value."""
    rows = _by_turn(pl.read_parquet(path))
    found = {"cpu": _cpu(rows), "memory": _memory(rows), "power": _power(rows)}
    return {key: lines for key, lines in found.items() if lines}


def _by_turn(rows: pl.DataFrame) -> pl.DataFrame:
    """All readings of one turn at its first instant. The sampler reads the host first in each turn."""
    is_host = pl.col("subject") == "host"
    numbered = rows.with_columns(
        turn=(is_host & ~is_host.shift(1, fill_value=False)).cum_sum().cast(pl.Int64)
    )
    return numbered.with_columns(pl.col("t_ns").min().over("turn"))


def _cpu(rows: pl.DataFrame) -> dict[str, Series]:
    host = rows.filter((pl.col("subject") == "host") & pl.col("metric").is_in(_BUSY))
    lines = {"host": _rates(_summed(host))}
    for subject in _PROCESSES:
        own = rows.filter((pl.col("subject") == subject) & pl.col("metric").is_in(_OWN))
        lines[subject] = _rates(_growth(own))
    return {name: line for name, line in lines.items() if line}


def _memory(rows: pl.DataFrame) -> dict[str, Series]:
    metric, subject = pl.col("metric"), pl.col("subject")
    lines = {
        "resident": _summed(rows.filter((metric == "rss_bytes") & (subject == "engine"))),
        "available": _summed(rows.filter((metric == "available_bytes") & (subject == "host"))),
    }
    return {name: _scaled(line, GIB) for name, line in lines.items() if line}


def _power(rows: pl.DataFrame) -> dict[str, Series]:
    lines: dict[str, Series] = {}
    own = rows.filter(pl.col("unit").is_in(_POWER_UNITS))
    for (subject, metric, unit), part in own.group_by(
        "subject", "metric", "unit", maintain_order=True
    ):
        values = _summed(part)
        lines[f"{subject} {metric}"] = values if unit == "W" else _rates(values)
    return lines


def _summed(rows: pl.DataFrame) -> Series:
    """Everything read in one turn added up."""
    summed = rows.group_by("t_ns").agg(pl.col("value").sum()).sort("t_ns")
    return dict(summed.iter_rows())


def _growth(rows: pl.DataFrame) -> Series:
    """Totals of processes that come and go: only growth counts, so that one that ended takes nothing away."""
    own = rows.group_by("t_ns", "pid").agg(pl.col("value").sum()).sort("t_ns")
    grown = own.with_columns(
        pl.col("value").diff().over("pid").fill_null(0.0).clip(lower_bound=0.0)
    )
    by_turn = grown.group_by("t_ns").agg(pl.col("value").sum()).sort("t_ns")
    return dict(by_turn.with_columns(pl.col("value").cum_sum()).iter_rows())


def _rates(totals: Series) -> Series:
    """Growth over the time it took, put at the end of that time."""
    found: dict[int, float] = {}
    before: tuple[int, float] | None = None
    for t_ns, value in totals.items():
        if before is not None and t_ns > before[0]:
            found[t_ns] = round((value - before[1]) / ((t_ns - before[0]) / NS), 4)
        before = t_ns, value
    return found


def _scaled(values: Series, divisor: float) -> Series:
    return {t_ns: round(value / divisor, 4) for t_ns, value in values.items()}


def _clipped(lines: Mapping[str, Series], shown: Shown) -> dict[str, Series]:
    found = {
        name: {t_ns: value for t_ns, value in line.items() if shown.low_ns <= t_ns <= shown.high_ns}
        for name, line in lines.items()
    }
    return {name: line for name, line in found.items() if line}
