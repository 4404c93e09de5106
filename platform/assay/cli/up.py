"""``assay up``: dashboard, worker and scheduler together, on this machine."""

import argparse
import os
import sys
import threading
from pathlib import Path

from assay.cli import web
from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, FAILED, LACKING, complain
from assay.cli.interrupts import stop_on_signals
from assay.cli.sign_in_link import print_link

QUIET = ("--loglevel", "WARNING")  # a poll every few seconds is not worth a line each
HELP = "Start everything, embedded: http://127.0.0.1:8000. Ctrl-C ends all of it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (loopback only)")
    parser.add_argument("--port", type=web.port_number, default=8000, help="port to listen on")
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    if (code := web.refuse_open_door(arguments.host)) is not None:
        return code
    if not web.port_is_free(arguments.host, arguments.port):
        return LACKING
    if (code := open_or_complain()) is not None:
        return code
    web.collect_static()
    web.share_metrics(arguments.workers)
    with stop_on_signals() as stopped:
        return _supervise(arguments, stopped)


def _supervise(arguments: argparse.Namespace, stopped: threading.Event) -> int:
    from django.conf import settings

    from assay.execution.supervisor import (
        Child,
        GaveUp,
        assay_command,
        child_environment,
        supervise,
    )

    logs = Path(settings.HOME) / "logs"
    children = [
        Child(name="web", command=web.gunicorn_command(arguments), log=logs / "web.log"),
        Child(name="worker", command=assay_command("worker", *QUIET), log=logs / "worker.log"),
        Child(name="beat", command=assay_command("beat", *QUIET), log=logs / "beat.log"),
    ]
    print_link(arguments.host, arguments.port)
    _tell(f"state      {settings.HOME}")
    _tell(f"logs       {logs}")
    _tell("Ctrl-C ends dashboard, worker and scheduler")
    try:
        supervise(
            children,
            environment=child_environment(python_path=settings.SUBPROCESS_PATH),
            should_stop=stopped.is_set,
            on_event=lambda line: complain(line),
        )
    except GaveUp as error:
        complain(str(error))
        return FAILED
    return DONE


def _tell(line: str) -> None:
    sys.stdout.write(line + os.linesep)
    sys.stdout.flush()
