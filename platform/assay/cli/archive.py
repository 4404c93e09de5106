"""``assay archive``: bundles on their way to the archive of a team, and back."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.archive.errors import ArchiveError
from assay.archive.paths import Home
from assay.archive.remote.location import VARIABLE, Remote, remote_from_environment
from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, FAILED, LACKING, REFUSED, complain, print_json
from assay.cli.sizes import bytes_of

HELP = "The archive that ASSAY_ARCHIVE names: bring bundles there, fetch them, make room here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a verb says, and the problems it met."""

    said: Mapping[str, object]
    failed: Sequence[str] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", required=True)
    push = verbs.add_parser("push", help="bring what is not there yet; goes on where it was cut")
    push.add_argument("--limit", type=int, default=1_000_000, help="bundles at most")
    verbs.add_parser("status", help="what is there, and what is not yet")
    fetch = verbs.add_parser("fetch", help="a bundle into the store of this machine, verified")
    fetch.add_argument("digest", help="the whole digest of a bundle")
    trim = verbs.add_parser("trim", help="remove copies here that are whole there")
    trim.add_argument("--keep", type=bytes_of, required=True, help="what may stay here, e.g. 50GB")
    for verb in verbs.choices.values():
        verb.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    try:
        remote = remote_from_environment()
        if remote is None:
            complain(
                f"{VARIABLE}: not set (allowed: s3://bucket/prefix, or a folder). Set it first"
            )
            return REFUSED
        if (code := open_or_complain()) is not None:
            return code
        done = _VERBS[arguments.what](arguments, remote)
    except ArchiveError as error:
        complain(str(error))
        return LACKING
    complain(*done.failed)
    if arguments.json:
        print_json({**done.said, "failed": list(done.failed)})
    else:
        print(", ".join(f"{name} {value}" for name, value in done.said.items()))  # noqa: T201
    return FAILED if done.failed else DONE


def _home() -> Home:
    from django.conf import settings

    return Home(settings.HOME)


def _push(arguments: argparse.Namespace, remote: Remote) -> Done:
    from assay.operations.archiving import push

    done = push(_home(), remote, limit=arguments.limit)
    if done is None:
        return Done(said={"archive": remote.url}, failed=("push: another process pushes already",))
    said = {"sent": done.sent, "bytes_sent": done.bytes_sent, "left": done.left}
    return Done(said={"archive": remote.url, **said}, failed=done.failed)


def _status(_arguments: argparse.Namespace, remote: Remote) -> Done:
    from assay.archive.remote.fetching import digests
    from assay.operations.archiving import pending
    from assay.operations.models import Upload

    there = dict(digests(remote))
    troubled = Upload.objects.filter(archive=remote.url, sent_at=None).exclude(problem="")
    said = {
        "whole": sum(there.values()),
        "unfinished": len(there) - sum(there.values()),
        "pending": pending(remote).count(),
    }
    problems = tuple(troubled.values_list("problem", flat=True))
    return Done(said={"archive": remote.url, **said}, failed=problems)


def _fetch(arguments: argparse.Namespace, remote: Remote) -> Done:
    from assay.archive.remote.fetching import fetch

    return Done(said={"bundle": str(fetch(remote, _home(), arguments.digest.lower()))})


def _trim(arguments: argparse.Namespace, remote: Remote) -> Done:
    from assay.operations.trimming import trim

    done = trim(_home(), remote, keep_bytes=arguments.keep)
    said = {"copies": done.copies, "bytes": done.bytes, "kept_bytes": done.kept_bytes}
    return Done(said=said)


_VERBS = {"push": _push, "status": _status, "fetch": _fetch, "trim": _trim}
