"""``assay retain``: let go of bundles by a policy. Without ``--apply`` it only shows the plan."""

import argparse

from assay.archive.errors import ArchiveError
from assay.archive.paths import Home
from assay.cli.database import open_or_complain, owner
from assay.cli.exits import DONE, LACKING, REFUSED, complain, print_json
from assay.cli.sizes import age_of, bytes_of

HELP = (
    "Show which bundles a policy lets go of; with --apply and the digest of that plan, remove their files "
    "here and in the archive. What a review or a finding cites never goes. Rows, readings and comments stay."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--older-than", type=age_of, help="sealed longer ago than, e.g. 90d")
    parser.add_argument("--larger-than", type=bytes_of, help="larger than, e.g. 500MB")
    parser.add_argument(
        "--state", action="append", default=[], help="sealed in this state, e.g. failed"
    )
    parser.add_argument(
        "--tag", action="append", default=[], help="only runs or studies of this tag"
    )
    parser.add_argument("--keep-tag", action="append", default=[], help="never those of this tag")
    parser.add_argument(
        "--keep-total", type=bytes_of, help="the oldest go until this much is left, e.g. 2TB"
    )
    parser.add_argument("--apply", metavar="PLAN", help="carry out the plan of this digest")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from django.conf import settings

    from assay.archive.remote.location import OutOfReach, remote_from_environment
    from assay.operations import retention

    policy = retention.Policy(
        older_than_s=int(a.total_seconds()) if (a := arguments.older_than) is not None else None,
        larger_than_bytes=arguments.larger_than,
        states=tuple(arguments.state),
        tags=tuple(arguments.tag),
        keep_tags=tuple(arguments.keep_tag),
        keep_total_bytes=arguments.keep_total,
    )
    try:
        if arguments.apply is None:
            found = retention.plan(policy)
        else:
            remote = remote_from_environment()
            found = retention.carry_out(
                arguments.apply, policy, Home(settings.HOME), remote, by=owner()
            )
    except OutOfReach as error:
        complain(str(error))
        return LACKING
    except ArchiveError as error:
        complain(str(error))
        return REFUSED
    document = {
        "plan": found.digest,
        "applied": arguments.apply is not None,
        "bundles": len(found.going),
        "bytes": found.bytes,
        "going": [
            {
                "digest": c.digest,
                "run": c.run,
                "bytes": c.bytes,
                "sealed_at": c.sealed_at.isoformat(),
            }
            for c in found.going
        ],
        "protected": [{"digest": d, "cited_by": why} for d, why in found.protected.items()],
    }
    print_json(document) if arguments.json else _say(document)
    return DONE


def _say(document: dict[str, object]) -> None:
    going, protected = document["going"], document["protected"]
    assert isinstance(going, list)
    assert isinstance(protected, list)
    for row in going:
        told = f"{row['sealed_at'][:10]}  {row['bytes']:>14} B  run {row['run']}"
        print(f"{row['digest'][:12]}  {told}")  # noqa: T201
    for row in protected:
        print(f"{row['digest'][:12]}  kept: {', '.join(row['cited_by'][:3])}")  # noqa: T201
    verb = "removed" if document["applied"] else "would go"
    print(f"{document['bundles']} bundles, {document['bytes']} B {verb}")  # noqa: T201
    if not document["applied"] and going:
        print(f"To remove them: the same command with --apply {document['plan']}")  # noqa: T201
