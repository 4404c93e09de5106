"""``assay submit``: check the declaration, queue its runs, nudge the workers."""

import argparse
from collections.abc import Mapping
from typing import Any

from assay.cli import declaration, project_choice
from assay.cli.database import open_or_complain, owner, set_up
from assay.cli.exits import DONE, print_json, refuse
from assay.cli.run import say_not_prepared
from experiments.errors import Refusal

HELP = (
    "Queue a study for the workers. The database is the queue: a run is never lost with a message."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    declaration.add_arguments(parser)
    project_choice.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        specs = declaration.planned_runs(arguments)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    set_up()
    from assay.execution import submitting

    if (refused := submitting.refused_here(specs)) is not None:
        return say_not_prepared(refused, as_json=arguments.json)
    if (code := open_or_complain()) is not None:
        return code
    try:
        project_id = project_choice.chosen_project_id(arguments)
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    study = submitting.queue_study(
        specs, overrides=arguments.overrides, owner=owner(), project_id=project_id
    )
    print_queued(submitting.queued(study), arguments)
    return DONE


def print_queued(found: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """What was queued, as JSON or in words, here or on a server."""
    if arguments.json:
        print_json(found)
        return
    for one in found["runs"]:
        print(f"run     {one['run']}  queued")  # noqa: T201
    print(f"show    assay show {found['runs'][0]['run']}")  # noqa: T201
