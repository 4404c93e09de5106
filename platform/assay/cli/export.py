"""``assay export RUN FILE``: one run's bundle as one file."""

import argparse
from pathlib import Path

from assay.archive import export, store
from assay.archive.errors import ArchiveError, DamagedBundle, UnknownBundle
from assay.archive.paths import home_from_environment
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json

HELP = (
    "Write a run's bundle to one file, verified first. The same bundle always gives the same bytes."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="run id or its beginning, or a bundle digest")
    parser.add_argument("file", type=Path, help=f"the file to write (*{export.SUFFIX})")
    parser.add_argument(
        "--without-content",
        action="store_true",
        help="leave out prompts, answers and wire bytes; they are listed as withheld",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    home = home_from_environment()
    try:
        folder = store.get(home, _digest(arguments.run))
        if arguments.without_content:
            done = export.export_without_content(folder, arguments.file, scratch=home.scratch)
        else:
            done = export.export_bundle(folder, arguments.file)
    except DamagedBundle as damage:
        complain(*damage.problems)
        return FAILED
    except (UnknownBundle, ArchiveError) as error:
        complain(str(error))
        return REFUSED
    except FileExistsError:
        complain(f"file: {arguments.file} exists (allowed: a new file). Name another one")
        return REFUSED
    except OSError as error:
        complain(f"file: {arguments.file}: {error.strerror} (allowed: a file that can be written)")
        return REFUSED
    if arguments.json:
        document = {
            "file": str(done.file.resolve()),
            "bundle_digest": done.bundle_digest,
            "bytes": done.bytes,
            "withheld": list(done.withheld),
        }
        print_json(document)
    else:
        withheld = f", {len(done.withheld)} files withheld" if done.withheld else ""
        print(f"{done.file}  {done.bytes} bytes  {done.bundle_digest}{withheld}")  # noqa: T201
    return DONE


def _digest(text: str) -> str:
    """The text itself if it names a stored bundle, else the digest of that run's bundle."""
    if store.matching(home_from_environment(), text.lower()):
        return text.lower()
    from assay.cli.database import NoDatabase, open_database

    try:
        open_database()
    except NoDatabase as error:
        raise ArchiveError(str(error)) from error
    from assay.cli.lookup import AmbiguousRun, one_run
    from assay.ledger import queries

    try:
        found = one_run(text)
    except AmbiguousRun as error:
        raise ArchiveError(str(error)) from error
    bundle = queries.bundle_of(found)
    if bundle is None:
        raise ArchiveError(
            f"run: {found.id} has no bundle (allowed: a run that was sealed). "
            f"It is {found.state}: {found.state_reason or 'no reason recorded'}"
        )
    return bundle.digest
