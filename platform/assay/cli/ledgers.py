"""``assay ledgers RUN --at 2000ms``: what each of the four ledgers said of every attempt at one instant."""

import argparse
from typing import Any

from assay.analysis.documents import LEDGERS
from assay.analysis.errors import AnalysisError
from assay.analysis.quantities import instant_ns
from assay.archive.instants import at_instant
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
    print_instant({"run": found.run_id, **document}, arguments)
    return DONE


def print_instant(document: dict[str, Any], arguments: argparse.Namespace) -> None:
    """The ledgers at an instant as JSON or in words, wherever they come from."""
    if arguments.json:
        print_json(document)
    else:
        _show(document, every=arguments.all)


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
