"""``assay import FILE``: take in an exported bundle, or another load client's result."""

import argparse
import zipfile
from pathlib import Path

from assay.analysis.errors import BadRecord
from assay.archive.errors import DamagedArchive, DamagedBundle, RefusedArchive
from assay.archive.foreign.table import TITLES
from assay.cli.database import open_or_complain, owner
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json

HELP = (
    "Import an exported bundle, or a result of AIPerf, GuideLLM, vllm bench serve, SGLang or MLPerf: "
    "verified first, then interpreted and indexed. Twice changes nothing."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        help="a file that `assay export` or a load client wrote, or a bundle folder",
    )
    parser.add_argument(
        "--from",
        dest="tool",
        choices=sorted(TITLES),
        help="whose result it must be; else it is recognised",
    )
    parser.add_argument(
        "--part", type=int, metavar="N", help="which of several results in it, from 1"
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
    from assay.execution.importing_results import import_result

    home, file = Home(settings.HOME), arguments.file
    try:
        if _is_bundle(arguments):
            found = import_bundle(file, home, owner=owner())
        else:
            found = import_result(
                file, home, owner=owner(), tool=arguments.tool, part=arguments.part
            )
    except BadRecord as error:
        complain(f"{error} Nothing was imported")
        return REFUSED
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


def _is_bundle(arguments: argparse.Namespace) -> bool:
    """A folder or a zip is one of ours, unless the caller says whose result it is."""
    if arguments.tool is not None or arguments.part is not None:
        return False
    return arguments.file.is_dir() or zipfile.is_zipfile(arguments.file)
