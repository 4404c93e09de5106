"""``assay restore FROM``: a backup into an empty home and an empty database, then looked at by fsck."""

import argparse
from pathlib import Path

from assay.archive.errors import ArchiveError
from assay.archive.paths import Home
from assay.cli.database import set_up
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json

HELP = "Put a backup into an empty ASSAY_HOME and an empty database, and compare everything afterwards."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="FROM", type=Path, help="a folder that `assay backup` made"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    set_up()
    from django.conf import settings

    from assay.archive.remote.location import remote_from_environment
    from assay.operations.backup import restore
    from assay.operations.fsck import fsck

    home = Home(settings.HOME)
    try:
        done = restore(arguments.source.resolve(), home)
        faults = [fault for fault in fsck(home, remote_from_environment()) if not fault.is_note]
    except ArchiveError as error:
        complain(str(error))
        return REFUSED
    complain(*(str(fault) for fault in faults))
    document = {
        "home": str(done.folder),
        "files": done.files,
        "bytes": done.bytes,
        "faults": [str(f) for f in faults],
    }
    if arguments.json:
        print_json(document)
    elif not faults:
        print(f"{done.folder}: {done.files} files, {done.bytes} B, everything is as it was")  # noqa: T201
    return FAILED if faults else DONE
