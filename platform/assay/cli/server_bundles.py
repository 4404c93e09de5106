"""Bundles of a server: brought here as one file, or checked byte by byte where they lie."""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.archive import transfer
from assay.archive.errors import ArchiveError, DamagedBundle
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json
from assay.cli.server_client import Server, ServerProblem
from assay.cli.server_runs import run_named
from experiments.errors import Finding


def export(server: Server, arguments: argparse.Namespace) -> int:
    """The file is verified here once more before it is said to be good."""
    file: Path = arguments.file
    without = {"without_content": "true"} if arguments.without_content else {}
    digest = _digest(server, arguments.run)
    try:
        size = server.download(f"/bundles/{digest}/export", file, **without)
    except FileExistsError:
        complain(f"file: {file} exists (allowed: a new file). Name another one")
        return REFUSED
    except OSError as error:
        complain(f"file: {file}: {error.strerror} (allowed: a file that can be written)")
        return REFUSED
    try:
        with TemporaryDirectory() as scratch:
            checked = transfer.unpack(file, Path(scratch) / "bundle")
    except (DamagedBundle, ArchiveError) as error:
        complain(f"file: {file}: {error} (allowed: the bytes that were sealed). Bring it once more")
        return FAILED
    from assay.cli.export import print_exported

    print_exported(
        arguments,
        file=file,
        bundle_digest=str(checked.bundle_digest),
        size=size,
        withheld=checked.withheld,
    )
    return DONE


def verify(server: Server, arguments: argparse.Namespace) -> int:
    found = server.get(f"/bundles/{_digest(server, arguments.bundle)}/verification")
    if arguments.json:
        print_json({**found, "bundle": server.url + found["bundle"]})
    for problem in found["problems"]:
        complain(problem)
    if found["problems"]:
        return FAILED
    if not arguments.json:
        for path in found["withheld"]:
            print(f"withheld {path}")  # noqa: T201
        print(f"ok {found['bundle_digest']}: {found['files']} files, unsigned")  # noqa: T201
    return DONE


def _digest(server: Server, text: str) -> str:
    run = server.get(f"/runs/{run_named(server, text)}")
    if run["bundle_digest"] is None:
        finding = Finding(
            field="run",
            seen=f"{run['run']} has no bundle",
            allowed="a run that was sealed",
            remedy=f"It is {run['state']}: {run['reason'] or 'no reason recorded'}.",
        )
        raise ServerProblem([finding], exit_code=REFUSED)
    return str(run["bundle_digest"])
