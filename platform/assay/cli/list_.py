"""``assay list``: runs, newest first, by the query language of the run list."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, print_json, refuse
from experiments.errors import Refusal

HELP = "Runs, newest first: `assay list state:failed engine:vllm created:7d 'ttft.p99<500ms'`."
SHOWN = 25


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", help="words that all have to hold (docs/queries.md)")
    parser.add_argument("--limit", type=row_count, default=SHOWN, help=f"rows (default {SHOWN})")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from assay.accounts.access import Access
    from assay.accounts.services import local_user
    from assay.execution import reaper
    from assay.execution.waiting import explain
    from assay.ledger.chosen import asked_runs
    from assay.ledger.rows import run_rows, with_names

    reaper.expire()
    reaper.expire_dead_workers()
    try:
        runs = with_names(asked_runs(Access(user=local_user()), " ".join(arguments.query)))
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    shown = list(runs[: arguments.limit])
    rows = run_rows(shown)
    explain(rows, shown)
    print_rows(rows, total=runs.count(), arguments=arguments)
    return DONE


def print_rows(
    rows: Sequence[Mapping[str, Any]], *, total: int, arguments: argparse.Namespace
) -> None:
    """Rows as JSON or in words, wherever they come from."""
    if arguments.json:
        print_json({"total": total, "runs": list(rows)})
        return
    for row in rows:
        moved = " ".join(f"{name}={value}" for name, value in row["variables"].items())
        words = (
            row["run"],
            f"{row['state']:<9}",
            row["created_at"][:16].replace("T", " "),
            row["study"],
            f"{row['engine']} {row['engine_version']}",
            row["artifact"],
            moved,
            row["reason"] if row["state"] == "queued" else "",
        )
        print("  ".join(filter(None, words)))  # noqa: T201
    if total > len(rows):
        print(f"and {total - len(rows)} more: --limit {total}")  # noqa: T201
    if not total:
        print("none")  # noqa: T201


def row_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text} is no number of rows (1 to 10000)")
    return int(text)
