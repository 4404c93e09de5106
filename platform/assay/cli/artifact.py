"""``assay artifact make NAME``: make an artifact on this machine that a declaration derives from another."""

import argparse

from assay.cli import runner

HELP = (
    "Make an artifact that its declaration derives from a pinned parent; its bytes are pinned too."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=("make",))
    parser.add_argument("name", help="of the config group artifact")


def run(arguments: argparse.Namespace) -> int:
    return runner.call(["convert", arguments.name], as_json=False)
