"""``assay verify BUNDLE``: a folder, a file, a digest or a run. Only a run id needs the database."""

import argparse
import tempfile
from pathlib import Path

from assay.archive import store, transfer
from assay.archive.errors import ArchiveError, DamagedArchive, DamagedBundle
from assay.archive.paths import home_from_environment
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json
from runners.protocol import layout, manifest

HELP = "Compare every byte of a bundle with its manifest; names changed, missing and extra files."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", help="folder, exported file, bundle digest or run id")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.bundle)
    if path.is_file():
        return _verify_file(path, as_json=arguments.json)
    is_folder = bool(arguments.bundle) and path.is_dir()  # Path("") is the current folder
    folder, expected = (path, None) if is_folder else _stored(arguments.bundle)
    if folder is None:
        complain(
            f"bundle: {arguments.bundle} (allowed: a folder, an exported file, the digest of a stored "
            "bundle, or the id of a run that has one). `assay show RUN` prints the folder"
        )
        return REFUSED
    return _report(folder, manifest.verify(folder), expected=expected, as_json=arguments.json)


def _stored(text: str) -> tuple[Path | None, str | None]:
    found = store.matching(home_from_environment(), text.lower()) if text else []
    if len(found) == 1:
        return found[0], found[0].name
    return _bundle_of_run(text)


def _bundle_of_run(text: str) -> tuple[Path | None, str | None]:
    from assay.cli.database import NoDatabase, database_exists, open_database

    home = home_from_environment()
    if not database_exists():
        return None, None  # looking something up makes no database
    try:
        open_database()
    except NoDatabase as error:
        complain(str(error))
        return None, None
    from assay.archive.remote.fetching import bundle_folder
    from assay.cli.lookup import AmbiguousRun, one_run
    from assay.ledger import queries

    try:
        bundle = queries.bundle_of(one_run(text))
    except AmbiguousRun:
        return None, None
    return (bundle_folder(home, bundle.digest), bundle.digest) if bundle else (None, None)


def _verify_file(file: Path, *, as_json: bool) -> int:
    if file.name in {layout.MANIFEST, layout.MANIFEST_DIGEST}:
        return _report(file.parent, manifest.verify(file.parent), expected=None, as_json=as_json)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            checked = transfer.unpack(file, Path(scratch) / "bundle")
        except DamagedBundle:
            checked = manifest.verify(Path(scratch) / "bundle")
        except ArchiveError as error:
            complain(str(error))
            return FAILED if isinstance(error, DamagedArchive) else REFUSED
    return _report(file, checked, expected=None, as_json=as_json)


def _report(
    where: Path, checked: manifest.Verification, *, expected: str | None, as_json: bool
) -> int:
    problems = list(checked.problems)
    if expected is not None and checked.bundle_digest not in {expected, None}:
        problems.append(
            f"{layout.MANIFEST}: changed (the bundle is known as {expected}, "
            f"its manifest is {checked.bundle_digest})"
        )
    if as_json:
        document = {
            "bundle": str(where.resolve()),
            "bundle_digest": checked.bundle_digest,
            "ok": not problems,
            "files": checked.checked,
            "bytes": checked.bytes,
            "problems": problems,
            "withheld": list(checked.withheld),
            "signed_by": None,
        }
        print_json(document)
    for problem in problems:
        complain(problem)
    if problems:
        return FAILED
    if not as_json:
        for path in checked.withheld:
            print(f"withheld {path}")  # noqa: T201
        print(f"ok {checked.bundle_digest}: {checked.checked} files, unsigned")  # noqa: T201
    return DONE
