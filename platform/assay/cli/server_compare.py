"""Runs of a server compared there, told as they are here."""

import argparse

from assay.cli.server_client import Server
from assay.cli.server_runs import run_named


def compare(server: Server, arguments: argparse.Namespace) -> int:
    from assay.cli.compare import print_compared

    runs = [run_named(server, text) for text in arguments.runs]
    return print_compared(server.get("/compare", run=runs), arguments)
