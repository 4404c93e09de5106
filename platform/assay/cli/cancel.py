"""``assay cancel RUN``: ask for the end of a run, through the database."""

import argparse

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, FAILED, REFUSED, complain

HELP = "End a queued run at once, a running one within a heartbeat; what it captured is sealed as aborted."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="run id, or its beginning")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from assay.cli.lookup import AmbiguousRun, one_run
    from assay.execution.services import request_cancel

    try:
        found = one_run(arguments.run)
    except AmbiguousRun as error:
        complain(str(error))
        return REFUSED
    if not request_cancel(found.id):
        complain(
            f"run: {found.id} is {found.state} (allowed: queued or running). Nothing to cancel"
        )
        return FAILED
    return DONE
