"""``assay show RUN``: four ledgers, headline measures with their passport, residuals and gaps."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.cli.database import database_exists, open_or_complain
from assay.cli.exits import DONE, REFUSED, complain, print_json
from assay.cli.unregistered import folder_of, looked_at, spec_of

HELP = "What came out of a run: ledger counts, measures, residuals, gaps."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", help="run id or its beginning, the digest of a bundle, or the folder of one"
    )
    parser.add_argument("--all", action="store_true", help="every measure and every residual")
    parser.add_argument("--json", action="store_true", help="the object of `assay run --json`")


def run(arguments: argparse.Namespace) -> int:
    is_needless = Path(arguments.run).is_dir() or not database_exists()
    if is_needless and (folder := folder_of(arguments.run)) is not None:
        return _show_folder(folder, arguments)
    if (code := open_or_complain()) is not None:
        return code
    from assay.cli.lookup import AmbiguousRun, one_run
    from assay.cli.result import run_object
    from assay.execution import reaper
    from assay.execution.waiting import explain

    # A state that a dead worker left is not shown as if it were alive: elsewhere the lease tells, here the
    # process does, at once.
    reaper.expire()
    reaper.expire_dead_workers()
    try:
        found = one_run(arguments.run)
    except AmbiguousRun as error:
        if (folder := folder_of(arguments.run)) is not None:
            return _show_folder(folder, arguments)
        complain(str(error))
        return REFUSED
    shown = run_object(found)
    explain([shown], [found])
    print_object(shown, arguments)
    return DONE


def print_object(found: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """A run as JSON or in words, wherever its object comes from."""
    from assay.cli import report

    if arguments.json:
        print_json(found)
    else:
        report.print_run(found, report.EVERYTHING if arguments.all else report.HEADLINES)


def _show_folder(folder: Path, arguments: argparse.Namespace) -> int:
    """What the client saw, where no ledger knows the run."""
    from assay.cli.load_found import print_found, result

    found = result(looked_at(folder), spec_of(folder))
    if arguments.json:
        print_json(found)
    else:
        print_found(found)
    return DONE
