"""A run in words on a terminal. Unknown is said with its reason, never left blank and never zero.

It is told from the object that ``assay run --json`` prints, so that a run of a server reads as one of here.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.analysis.documents import LEDGERS
from assay.cli.boundary import boundary_tables

PIPE_WIDTH = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which rows are printed; ``rules`` and ``statistics`` None means every one."""

    rules: tuple[str, ...] | None
    statistics: tuple[str, ...] | None
    unmeasured_residuals: bool


EVERYTHING = Choice(rules=None, statistics=None, unmeasured_residuals=True)
HEADLINES = Choice(
    rules=(
        "ttft.first_content.client",
        "tpot.last_token",
        "itl.chunk_gap",
        "e2e.client",
        "throughput.output_tokens",
        "throughput.requests",
        "completion_rate",
        "error_rate",
        "goodput.ratio",
    ),
    statistics=("mean", "p50", "p95", "p99", "rate", "ratio"),
    unmeasured_residuals=False,
)


def print_run(
    run: Mapping[str, Any], choice: Choice = HEADLINES, console: Console | None = None
) -> None:
    # Beside a terminal nothing limits the width; on one, long cells fold. Nothing is ever cut off.
    out = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    for name, value in _facts(run):
        if value:
            out.print(Text(f"{name:<9} {value}"), soft_wrap=True)
    if run["definition_version"] is None:
        out.print(Text("\nno interpretation: no number can be stated for this run"))
        return
    out.print(Text(f"grade     {_grade(run.get('grade'))}"), soft_wrap=True)
    out.print()
    out.print(_ledgers(run["ledgers"]))
    out.print(_measures(run["aggregates"], choice))
    if run["residuals"]:
        out.print(_residuals(run["residuals"], choice))
    out.print(_gaps(run["gaps"]))
    for table in boundary_tables(run["boundary"]):
        out.print(table)
    if choice != EVERYTHING:
        out.print(Text("headlines only; `assay show RUN --all` prints every measure and residual"))


def _facts(run: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    for name in ("run", "study", "project", "state", "reason", "artifact", "engine", "device"):
        yield name, run[name]
    yield "spec", run["spec_digest"]
    yield "bundle", run["bundle_digest"] or "none: nothing was sealed"
    where = run["bundle"] or ""
    yield ("folder" if where.startswith("/") else "address"), where


def _grade(grade: Mapping[str, Any] | None) -> str:
    """How far the client's own figures can be trusted, and why not further."""
    if grade is None:
        return "unknown: this reading is from before there were grades"
    why = "; ".join(grade["reasons"]) or "the client kept its times, others left the cores alone"
    return f"{grade['letter']} (client-side figures: {why})"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _ledgers(counts: Mapping[str, Mapping[str, int]]) -> Table:
    table = _table("ledgers", "ledger", "states")
    for ledger in LEDGERS:
        states = [f"{state} {count}" for state, count in counts[ledger].items()]
        table.add_row(ledger, ", ".join(states) or f"unknown: no {ledger} record")
    return table


def _measures(aggregates: list[Mapping[str, Any]], choice: Choice) -> Table:
    table = _table("measures", "rule", "statistic", "value", "n of", "population", "view", "limit")
    for a in aggregates:
        if choice.rules is not None and a["rule"] not in choice.rules:
            continue
        if choice.statistics is not None and a["statistic"] not in choice.statistics:
            continue
        table.add_row(
            a["rule"],
            a["statistic"],
            _value(a),
            f"{a['n']} of {a['of']}",
            a["population"],
            a["perspective"],
            a["limited_by"],
        )
    return table


def _value(aggregate: Mapping[str, Any]) -> str:
    value, words = aggregate.get("value"), aggregate.get("absent")
    if value is None:
        special = aggregate.get("special")
        return words or special if special else f"unknown: {words}"
    interval = aggregate.get("interval")
    shown = f" [{interval[0]:.3g}, {interval[1]:.3g}]" if interval else ""
    return f"{value:.3g} {aggregate['unit']}{shown}"


def _residuals(rows: list[Mapping[str, Any]], choice: Choice) -> Table:
    columns = (
        *("quantity", "conditions", "bound", "predicted", "range", "measured", "relative"),
        *("layer", "class", "validity"),
    )
    table = _table("predictions and residuals", *columns)
    for r in rows:
        if r["measured"] is None and not choice.unmeasured_residuals:
            continue
        unit = r["unit"]
        table.add_row(
            r["quantity"],
            " ".join(f"{k}={v}" for k, v in (r.get("conditions") or {}).items()),
            _number(r["bound"], unit),
            _number(r["predicted"], unit),
            _range(r.get("range")),
            _number(r["measured"], unit)
            if r["measured"] is not None
            else f"unknown: {r.get('reason') or ''}",
            f"{r['relative']:+.1%}" if r["relative"] is not None else "unknown",
            r["layer"],
            r["class"] or "none",
            r["validity"],
        )
    return table


def _range(stated: list[float] | None) -> str:
    return "none stated" if not stated else f"{stated[0]:.3g} to {stated[1]:.3g}"


def _number(value: float | None, unit: str) -> str:
    return "none stated" if value is None else f"{value:.3g} {unit}"


def _gaps(gaps: list[Mapping[str, Any]]) -> Table:
    table = _table("gaps", "what", "affects", "needed", "state")
    for gap in gaps:
        table.add_row(gap["what"], gap["affects"], gap["needed"], gap["state"])
    if not table.row_count:
        table.add_row("none found", "", "", "")
    return table
