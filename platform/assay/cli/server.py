"""Carry a verb out on a server, with the words and exit codes it has here."""

import argparse
import importlib
from collections.abc import Callable

from assay.cli.exits import DONE, refuse
from assay.cli.server_choice import SERVED
from assay.cli.server_client import Server, ServerProblem, server_at

OnServer = Callable[[Server, argparse.Namespace], int | None]


def carry_out(url: str, verb: str, arguments: argparse.Namespace) -> int:
    module, _, function = SERVED[verb].partition(":")
    work: OnServer = getattr(importlib.import_module(module), function)
    try:
        return work(server_at(url), arguments) or DONE
    except ServerProblem as problem:
        as_json = bool(getattr(arguments, "json", False))
        return refuse(problem.findings, exit_code=problem.exit_code, as_json=as_json)
