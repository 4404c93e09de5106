"""``assay export RUN FILE``: one run's bundle as one file."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from assay.archive import export, store
from assay.archive.errors import ArchiveError, DamagedBundle, UnknownBundle
from assay.archive.paths import home_from_environment
from assay.archive.remote import fetching
from assay.cli import export_elsewhere
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json

HELP = (
    "Write a run's bundle to one file, verified first. The same bundle always gives the same bytes."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="run id or its beginning, or a bundle digest")
    parser.add_argument("file", type=Path, nargs="?", help=f"the file to write (*{export.SUFFIX})")
    export_elsewhere.add_arguments(parser)
    parser.add_argument(
        "--without-content",
        action="store_true",
        help="leave out prompts, answers and wire bytes; they are listed as withheld",
    )
    parser.add_argument(
        "--with-review",
        action="store_true",
        help="bring along what was said of the run in reviews, beside the bundle; no approval elsewhere",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    home = home_from_environment()
    if export_elsewhere.wanted(arguments):
        try:
            return export_elsewhere.run(arguments, home, _digest(arguments.run))
        except ArchiveError as error:
            complain(str(error))
            return REFUSED
    if arguments.file is None:
        complain("file: none is given (allowed: FILE, --otlp FILE|URL, --mlflow URI). Name one")
        return REFUSED
    try:
        folder = fetching.get(home, _digest(arguments.run))
        beside = _history(folder.name) if arguments.with_review else None
        if arguments.without_content:
            done = export.export_without_content(
                folder, arguments.file, scratch=home.scratch, beside=beside
            )
        else:
            done = export.export_bundle(folder, arguments.file, beside=beside)
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
    print_exported(
        arguments,
        file=done.file,
        bundle_digest=done.bundle_digest,
        size=done.bytes,
        withheld=done.withheld,
    )
    return DONE


def print_exported(
    arguments: argparse.Namespace,
    *,
    file: Path,
    bundle_digest: str,
    size: int,
    withheld: Sequence[str],
) -> None:
    """The file that was written, as JSON or in words, wherever the bundle lies."""
    if arguments.json:
        document = {
            "file": str(file.resolve()),
            "bundle_digest": bundle_digest,
            "bytes": size,
            "withheld": list(withheld),
        }
        print_json(document)
    else:
        left_out = f", {len(withheld)} files withheld" if withheld else ""
        print(f"{file}  {size} bytes  {bundle_digest}{left_out}")  # noqa: T201


def _history(digest: str) -> dict[str, bytes]:
    """What was said of the bundle here, to lie beside it."""
    _open()
    from assay.review import history

    return {history.NAME: history.written(digest)}


def _open() -> None:
    from assay.cli.database import NoDatabase, open_database

    try:
        open_database()
    except NoDatabase as error:
        raise ArchiveError(str(error)) from error


def _digest(text: str) -> str:
    """The text itself if it names a stored bundle, else the digest of that run's bundle."""
    if store.matching(home_from_environment(), text.lower()):
        return text.lower()
    _open()
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
