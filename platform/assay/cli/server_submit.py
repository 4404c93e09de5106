"""Queue a study on a server: the declaration is composed and checked there, with its group files."""

import argparse

from assay.cli.exits import REFUSED, complain
from assay.cli.project_choice import chosen_slug
from assay.cli.server_client import Server
from assay.cli.submit import print_queued


def submit(server: Server, arguments: argparse.Namespace) -> int | None:
    if arguments.studies is not None:
        complain(
            f"--studies: {arguments.studies} lies here (allowed: none with --server). "
            "The server composes with its own group files: put yours into its ASSAY_STUDIES"
        )
        return REFUSED
    wanted = {
        "overrides": arguments.overrides,
        "sweep": arguments.sweep,
        "project": chosen_slug(arguments),
    }
    found = server.post("/studies", wanted)
    found.pop("unchecked")
    print_queued(found, arguments)
    return None
