"""The few figures of a quick look: from an interpretation's own aggregates, each with its rule.

The short keys (``ttft_mean``, ms) are what load tools print; ``rules`` says what each of them is here.
"""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

MS_PER_S = 1000.0
LATENCIES = {
    "ttft": "ttft.first_content.client",
    "itl": "itl.chunk_gap",
    "tpot": "tpot.last_token",
    "e2e": "e2e.client",
}
STATISTICS = ("mean", "p50", "p95", "p99")
RATES = {
    "requests_per_s": ("throughput.requests", "rate"),
    "output_tokens_per_s": ("throughput.output_tokens", "rate"),
    "goodput_ratio": ("goodput.ratio", "ratio"),
}
ABSENT = {"goodput_ratio": "no limits were declared (--slo)"}


def headlines(reading: Mapping[str, Any] | None) -> dict[str, Any]:
    """Short key -> value; null where absent, and ``absent`` then says why."""
    found: dict[str, Any] = {"rules": {}, "absent": {}}
    aggregates = {(a["rule"], a["statistic"]): a for a in (reading or {}).get("aggregates", ())}
    for short, rule in LATENCIES.items():
        for statistic in STATISTICS:
            _take(found, f"{short}_{statistic}", aggregates.get((rule, statistic)), rule, MS_PER_S)
    for key, (rule, statistic) in RATES.items():
        _take(found, key, aggregates.get((rule, statistic)), rule, 1.0)
    found["ok"], found["failed"] = _counts(reading)
    return found


def _take(
    found: dict[str, Any], key: str, aggregate: Mapping[str, Any] | None, rule: str, scale: float
) -> None:
    value = aggregate.get("value") if aggregate else None
    found[key] = None if value is None else value * scale
    found["rules"][key] = rule
    if value is None:
        why = (aggregate or {}).get("absent") or ABSENT.get(key, "this reading states no such rule")
        found["absent"][key] = why


def _counts(reading: Mapping[str, Any] | None) -> tuple[int | None, int | None]:
    """Requests that completed, and all other requests that were offered."""
    if reading is None:
        return None, None
    counted = reading["reconciliation"]
    return counted["completed"], counted["offered"] - counted["completed"]


def print_headlines(found: Mapping[str, Any], console: Console) -> None:
    """One row a latency in ms, then rates and counts. Nothing is cut off, nothing absent is blank."""
    table = Table(box=None, pad_edge=False, title="client view, ms", title_justify="left")
    for column in ("", *STATISTICS, "rule"):
        table.add_column(column, justify="left" if column in ("", "rule") else "right")
    for short, rule in LATENCIES.items():
        cells = [_cell(found, f"{short}_{statistic}") for statistic in STATISTICS]
        table.add_row(short.upper(), *cells, rule)
    console.print(table)
    for key, unit in (
        ("requests_per_s", "requests/s"),
        ("output_tokens_per_s", "output tokens/s"),
        ("goodput_ratio", "goodput over offered"),
    ):
        console.print(Text(f"{_cell(found, key):>10}  {unit}"))
    console.print(Text(f"{found['ok']} completed, {found['failed']} not"))
    for why, keys in _reasons(found).items():
        console.print(Text(f"unknown {', '.join(keys)}: {why}"))


def _cell(found: Mapping[str, Any], key: str) -> str:
    value = found[key]
    return "unknown" if value is None else f"{value:.2f}"


def _reasons(found: Mapping[str, Any]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for key, why in found["absent"].items():
        reasons.setdefault(why, []).append(key)
    return reasons
