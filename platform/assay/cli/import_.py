"""``assay import FILE``: take in an exported bundle that nobody vouches for."""

import argparse
from pathlib import Path

from assay.archive.errors import DamagedArchive, DamagedBundle, RefusedArchive
from assay.cli.database import open_or_complain, owner
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json

HELP = "Import an exported bundle: verified first, then interpreted and indexed. Twice changes nothing."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, help="a file that `assay export` wrote, or a bundle folder"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if not arguments.file.exists():
        complain(
            f"file: {arguments.file} does not exist (allowed: an exported file or a bundle folder). "
            "Name one that `assay export` wrote"
        )
        return REFUSED
    if (code := open_or_complain()) is not None:
        return code
    from django.conf import settings

    from assay.archive.paths import Home
    from assay.cli.result import run_object, where_to_look
    from assay.execution.importing import import_bundle

    try:
        found = import_bundle(arguments.file, Home(settings.HOME), owner=owner())
    except RefusedArchive as error:
        complain(str(error))
        return FAILED if isinstance(error, DamagedArchive) else REFUSED
    except DamagedBundle as damage:
        complain(*damage.problems, f"{arguments.file}: kept in quarantine, nothing was imported")
        return FAILED
    if arguments.json:
        print_json({**run_object(found.run), "imported": found.new})
    else:
        print("imported" if found.new else "known already, nothing changed")  # noqa: T201
        where_to_look(found.run)
    return DONE
