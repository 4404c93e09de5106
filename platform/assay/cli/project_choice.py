"""The project that a study is put in: ``--project``, else ASSAY_PROJECT, else the main one."""

import argparse
import os
from uuid import UUID

VARIABLE = "ASSAY_PROJECT"
MAIN = "main"


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--project",
        metavar="SLUG",
        help=f"the project that the study belongs to (default: {VARIABLE}, else {MAIN})",
    )


def chosen_slug(arguments: argparse.Namespace) -> str:
    return arguments.project or os.environ.get(VARIABLE) or MAIN


def chosen_project_id(arguments: argparse.Namespace) -> UUID:
    """Needs the database. Raises experiments.errors.Refusal with the projects there are."""
    from assay.accounts.models import MAIN_PROJECT
    from assay.accounts.projects import project_named

    slug = chosen_slug(arguments)
    return MAIN_PROJECT if slug == MAIN else project_named(slug).id
