"""A run in words on a terminal. Unknown is said with its reason, never left blank and never zero."""

import sys
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.analysis.documents import LEDGERS
from assay.cli.boundary import boundary_tables
from assay.cli.result import bundle_folder
from assay.ledger import queries
from assay.ledger.models import Interpretation, Measure, MeasureKind, Residual, Run

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


def print_run(run: Run, choice: Choice = HEADLINES, console: Console | None = None) -> None:
    # Beside a terminal nothing limits the width; on one, long cells fold. Nothing is ever cut off.
    out = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    bundle = queries.bundle_of(run)
    facts = [
        ("run", str(run.id)),
        ("study", run.study.name),
        ("state", run.state),
        ("reason", run.state_reason),
        ("artifact", run.artifact_name),
        ("engine", f"{run.engine_key} {run.engine_version}"),
        ("device", run.device_name),
        ("spec", run.spec_digest),
        ("bundle", bundle.digest if bundle else "none: nothing was sealed"),
        ("folder", str(bundle_folder(bundle)) if bundle else ""),
    ]
    for name, value in facts:
        if value:
            out.print(Text(f"{name:<9} {value}"), soft_wrap=True)
    reading = queries.interpretation_of(bundle) if bundle else None
    if reading is None:
        out.print(Text("\nno interpretation: no number can be stated for this run"))
        return
    out.print()
    out.print(_ledgers(reading))
    out.print(_measures(reading, choice))
    if reading.residuals.exists():
        out.print(_residuals(reading, choice))
    out.print(_gaps(reading))
    for table in boundary_tables(run.spec.get("boundary") or {}):
        out.print(table)
    if choice != EVERYTHING:
        out.print(Text("headlines only; `assay show RUN --all` prints every measure and residual"))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _ledgers(reading: Interpretation) -> Table:
    table = _table("ledgers", "ledger", "states")
    counts = list(reading.ledger_counts.order_by("ledger", "state"))
    for ledger in LEDGERS:
        states = [f"{c.state} {c.count}" for c in counts if c.ledger == ledger]
        table.add_row(ledger, ", ".join(states) or f"unknown: no {ledger} record")
    return table


def _measures(reading: Interpretation, choice: Choice) -> Table:
    table = _table("measures", "rule", "statistic", "value", "n of", "population", "view", "limit")
    measures = reading.measures.order_by("id")
    if choice.rules is not None:
        measures = measures.filter(rule__in=choice.rules)
    if choice.statistics is not None:
        measures = measures.filter(statistic__in=choice.statistics)
    for m in measures:
        table.add_row(
            m.rule,
            m.statistic,
            _value(m),
            f"{m.n} of {m.of}",
            m.population,
            m.perspective,
            m.limited_by,
        )
    return table


def _value(measure: Measure) -> str:
    if measure.kind == MeasureKind.missing or measure.value is None:
        words = measure.absent or measure.kind
        return words if measure.kind != MeasureKind.missing else f"unknown: {words}"
    interval = ""
    if measure.low is not None and measure.high is not None:
        interval = f" [{measure.low:.3g}, {measure.high:.3g}]"
    return f"{measure.value:.3g} {measure.unit}{interval}"


def _residuals(reading: Interpretation, choice: Choice) -> Table:
    columns = (
        *("quantity", "conditions", "bound", "predicted", "range", "measured", "relative"),
        *("layer", "class", "validity"),
    )
    table = _table("predictions and residuals", *columns)
    rows = reading.residuals.order_by("id")
    if not choice.unmeasured_residuals:
        rows = rows.exclude(measured=None)
    for r in rows:
        table.add_row(
            r.quantity,
            " ".join(f"{k}={v}" for k, v in r.conditions.items()),
            _number(r.bound, r.unit),
            _number(r.predicted, r.unit),
            _range(r),
            _number(r.measured, r.unit) if r.measured is not None else f"unknown: {r.reason}",
            f"{r.relative:+.1%}" if r.relative is not None else "unknown",
            r.layer,
            r.klass or "none",
            r.validity,
        )
    return table


def _range(residual: Residual) -> str:
    if residual.low is None or residual.high is None:
        return "none stated"
    return f"{residual.low:.3g} to {residual.high:.3g}"


def _number(value: float | None, unit: str) -> str:
    return "none stated" if value is None else f"{value:.3g} {unit}"


def _gaps(reading: Interpretation) -> Table:
    table = _table("gaps", "what", "affects", "needed", "state")
    for gap in reading.gaps.order_by("id"):
        table.add_row(gap.what, gap.affects, gap.needed, gap.state)
    if not table.row_count:
        table.add_row("none found", "", "", "")
    return table
