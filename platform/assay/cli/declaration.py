"""The declaration as verbs take it: overrides, a sweep flag, a folder of one's own group files."""

import argparse
import os
from pathlib import Path

from experiments.checks.policy import Policy
from experiments.compose import compose, compose_sweep
from experiments.plan import RunSpec, plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "overrides", nargs="+", metavar="OVERRIDE", help="study=NAME, load.rate_per_s=2"
    )
    parser.add_argument(
        "-m", "--sweep", action="store_true", help="expand comma lists to one run each"
    )
    parser.add_argument("--studies", type=Path, metavar="FOLDER", help="further config group files")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def planned_runs(arguments: argparse.Namespace) -> list[RunSpec]:
    """Every run of the declaration, in run order. Raises experiments.errors.Refusal."""
    policy = Policy.from_environment(os.environ)
    if arguments.sweep:
        composed = compose_sweep(arguments.overrides, studies=arguments.studies)
        return plan(composed, policy=policy)
    return plan([compose(arguments.overrides, studies=arguments.studies)], policy=policy)
