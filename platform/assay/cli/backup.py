"""``assay backup OUT``: database and store in one new folder."""

import argparse
from pathlib import Path

from assay.archive.errors import ArchiveError
from assay.archive.paths import Home
from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, REFUSED, complain, print_json

HELP = (
    "Copy the database as of one instant, and the store, into a new folder. Runs may go on. Keys, engines "
    "and artifacts are not in it; what lies only in the archive of a team stays there."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", type=Path, help="a folder that is not there yet")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from django.conf import settings

    from assay.operations.backup import back_up

    try:
        done = back_up(Home(settings.HOME), arguments.out.resolve())
    except ArchiveError as error:
        complain(str(error))
        return REFUSED
    document = {"backup": str(done.folder), "files": done.files, "bytes": done.bytes}
    if arguments.json:
        print_json(document)
    else:
        print(f"{done.folder}: {done.files} files, {done.bytes} B")  # noqa: T201
    return DONE
