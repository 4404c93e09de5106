"""``assay engines``: environments of engine versions. The runner makes them; see ``runners.environments``."""

import argparse

from assay.cli import runner

HELP = (
    "Install, list, check or remove the environments of engine versions: "
    "made from a lock, or an image by digest."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=("install", "list", "check", "remove"))
    parser.add_argument(
        "rest",
        nargs=argparse.REMAINDER,
        metavar="...",
        help="install KEY==VERSION [--variant cpu] [--lock FILE | --image REPOSITORY@sha256:DIGEST]; "
        "check [NAME ...]; remove NAME; any: --json",
    )


def run(arguments: argparse.Namespace) -> int:
    asked = ["engines", arguments.verb, *arguments.rest]
    return runner.call(asked, as_json="--json" in arguments.rest)
