"""The declaration as verbs take it: overrides, a sweep flag, a folder of one's own group files."""

import argparse
import os
from pathlib import Path

from assay.archive.paths import studies_from_environment
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
    add_studies(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def add_studies(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--studies",
        type=Path,
        metavar="FOLDER",
        default=studies_from_environment(),
        help="your own group files (default: ASSAY_STUDIES, or studies below ASSAY_HOME if it is there)",
    )


def planned_runs(arguments: argparse.Namespace) -> list[RunSpec]:
    """Every run of the declaration, in run order. Raises experiments.errors.Refusal."""
    policy = Policy.from_environment(os.environ)
    if arguments.sweep:
        composed = compose_sweep(arguments.overrides, studies=arguments.studies)
        return plan(composed, policy=policy)
    return plan([compose(arguments.overrides, studies=arguments.studies)], policy=policy)
