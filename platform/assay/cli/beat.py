"""``assay beat``: the scheduler, which sends the poll and the reaper."""

import argparse

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE

HELP = "Send the periodic nudges (poll, reap). One per installation."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--loglevel", default="INFO", help="Celery's log level")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from assay.execution.celery import app

    app.start(["beat", f"--loglevel={arguments.loglevel}", "--pidfile="])
    return DONE
