"""``assay ledgers RUN --at 2000ms``: what each of the four ledgers said of every attempt at one instant."""

import argparse
from typing import Any

from assay.analysis.absence import Absent
from assay.analysis.clocks import Instant
from assay.analysis.documents import LEDGERS, LedgerRow
from assay.analysis.errors import AnalysisError
from assay.analysis.ledgers.joined_at import AttemptAt, ledgers_at
from assay.analysis.quantities import instant_ns
from assay.archive.stored_reading import StoredReading
from assay.cli.exits import DONE, REFUSED, complain, print_json
from assay.cli.interpreted_run import interpreted_run

HELP = "The four ledgers of a run at one instant, joined by ids."
SHOWN = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="run id or its beginning, or the digest of its bundle")
    parser.add_argument(
        "--at",
        required=True,
        metavar="2000ms",
        help="from the run's origin: a time with its unit, or ns",
    )
    parser.add_argument("--all", action="store_true", help=f"more than the first {SHOWN} attempts")
    parser.add_argument("--json", action="store_true", help="every attempt, as JSON")


def run(arguments: argparse.Namespace) -> int:
    try:
        at_ns = instant_ns(arguments.at, field="--at")
    except AnalysisError as error:
        complain(str(error))
        return REFUSED
    found = interpreted_run(arguments.run)
    if isinstance(found, int):
        return found
    document = at_instant(found.reading, at_ns)
    if arguments.json:
        print_json({"run": found.run_id, **document})
    else:
        _show(document, every=arguments.all)
    return DONE


def at_instant(reading: StoredReading, at_ns: int) -> dict[str, Any]:
    """Every attempt with the state that holds in each ledger; an unknown state is null beside its reason."""
    run_reading = reading.run()
    ledgers = {name: reading.ledger_rows(name) for name in LEDGERS}
    domains = {row["clock_domain"] for row in ledgers["client"]}
    domain = min(domains) if len(domains) == 1 else "several"
    attempts = ledgers_at(
        ledgers,
        Instant(t_ns=at_ns, clock_domain=domain, error_ns=0),
        uncalibrated=run_reading["observed"].get("uncalibrated_domains", ()),
    )
    return {
        "at_ns": at_ns,
        "clock_domain": domain,
        "definition_version": run_reading["definition_version"],
        "attempts": [_attempt(attempt) for attempt in attempts],
    }


def _attempt(at: AttemptAt) -> dict[str, Any]:
    states = {"client": at.client, "server": at.server, "task": at.task, "resource": at.resource}
    return {
        "attempt_id": at.attempt_id,
        "ids": dict(at.ids),
        **{name: None if isinstance(row, Absent) else _row(row) for name, row in states.items()},
        "absent": {name: row.reason for name, row in states.items() if isinstance(row, Absent)},
    }


def _row(row: LedgerRow) -> dict[str, Any]:
    named = ("state", "detail", "from_ns", "to_ns", "evidence", "level")
    return {name: row[name] for name in named}  # type: ignore[literal-required]


def _show(document: dict[str, Any], *, every: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"four ledgers at {document['at_ns'] / 1e6:g} ms from the run's origin")
    for column in ("attempt", *LEDGERS):
        table.add_column(column)
    rows = document["attempts"] if every else document["attempts"][:SHOWN]
    for attempt in rows:
        table.add_row(attempt["attempt_id"], *(_words(attempt, name) for name in LEDGERS))
    console = Console()
    console.print(table)
    if (more := len(document["attempts"]) - len(rows)) > 0:
        console.print(f"and {more} more: --all, or --json")


def _words(attempt: dict[str, Any], ledger: str) -> str:
    row = attempt[ledger]
    if row is None:
        return f"- ({attempt['absent'][ledger]})"
    return f"{row['state']} {row['detail']}" if row["detail"] else str(row["state"])
