"""``assay fsck``: disk, index and archive compared with one another."""

import argparse
from typing import TYPE_CHECKING

from assay.archive.faults import REMEDIES, Fault
from assay.archive.paths import Home
from assay.cli.database import open_or_complain, owner
from assay.cli.exits import DONE, FAILED, LACKING, complain, print_json

if TYPE_CHECKING:
    from assay.operations.mending import Mended

HELP = (
    "Compare every bundle with its manifest, the index with the store, readings with the index and, where "
    "ASSAY_ARCHIVE is set, the store with the archive. Never changes an archive."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rebuild-derived",
        action="store_true",
        help="read sound bundles again whose reading by the present definition is missing or altered",
    )
    parser.add_argument(
        "--register", action="store_true", help="take bundles of the store into the index"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from django.conf import settings

    from assay.archive.errors import ArchiveError
    from assay.archive.remote.location import remote_from_environment
    from assay.operations import mending
    from assay.operations.fsck import fsck

    home = Home(settings.HOME)
    try:
        remote = remote_from_environment()
        found = list(fsck(home, remote))
        mended = []
        if arguments.register:
            mended += mending.register(home, found, owner=owner())
        if arguments.rebuild_derived:
            mended += mending.rebuild_derived(home, found)
        left = list(fsck(home, remote)) if mended else found
    except ArchiveError as error:
        complain(str(error))
        return LACKING
    is_sound = not any(not fault.is_note for fault in left) and not any(m.problem for m in mended)
    if arguments.json:
        print_json(
            {
                "ok": is_sound,
                "faults": [_row(f) for f in left if not f.is_note],
                "notes": [_row(f) for f in left if f.is_note],
                "mended": [
                    {"digest": m.digest, "what": m.what, "problem": m.problem or None}
                    for m in mended
                ],
            }
        )
    else:
        _say(left, mended, is_sound=is_sound)
    return DONE if is_sound else FAILED


def _say(left: list[Fault], mended: "list[Mended]", *, is_sound: bool) -> None:
    for done in mended:
        print(f"{done.digest}: {done.problem or done.what}")  # noqa: T201
    complain(*(str(f) for f in left if not f.is_note))
    for fault in left:
        if fault.is_note:
            print(f"note: {fault}")  # noqa: T201
    print("ok" if is_sound else f"{sum(not f.is_note for f in left)} faults")  # noqa: T201


def _row(fault: Fault) -> dict[str, str]:
    return {
        "kind": fault.kind.value,
        "subject": fault.subject,
        "where": fault.where,
        "detail": fault.detail,
        "remedy": REMEDIES[fault.kind],
    }
