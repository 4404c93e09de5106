"""``assay worker``: one process that takes runs from the queue, one at a time on this machine."""

import argparse
import os

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE

HELP = (
    "Carry out queued runs. SIGTERM or Ctrl-C aborts the run at hand, which is sealed as aborted."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--queues",
        help="device kinds to serve, e.g. cpu,cuda (default: what is here; with --load: none)",
    )
    parser.add_argument(
        "--load", action="store_true", help="a load worker: sends part of the load of others' runs"
    )
    parser.add_argument("--loglevel", default="INFO", help="Celery's log level")


def run(arguments: argparse.Namespace) -> int:
    if arguments.queues or arguments.load:
        queues = [arguments.queues] if arguments.queues else []
        os.environ["ASSAY_QUEUES"] = ",".join([*queues, *(["load"] if arguments.load else [])])
    if (code := open_or_complain()) is not None:
        return code
    from assay.execution.celery import app

    # A message is only a nudge: what waited while no worker was here is worth nothing, the sweep and the
    # poll look into the database. Django's checks would load all pages and the API: a worker serves none.
    app.worker_main(
        [
            *("--skip-checks", "worker", f"--loglevel={arguments.loglevel}", "--purge"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        ]
    )
    return DONE
