"""``assay compare A B [C..]``: who the runs are, over what, and, where allowed, by how much they differ."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json, refuse
from experiments.errors import Finding

if TYPE_CHECKING:
    from assay.ledger.models import Run

HELP = (
    "Compare two to eight runs field by field, then by their numbers. The first one is the reference; runs "
    "of one configuration form one side. Exit code 1: the comparison is refused, with the reasons."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="run id or its beginning, or the digest of its bundle; two to eight of them",
    )
    parser.add_argument("--all", action="store_true", help="every field and every metric")
    parser.add_argument("--json", action="store_true", help="one JSON object: docs/comparing.md")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from assay.analysis.comparability.comparison import compare_runs
    from assay.analysis.comparability.document import comparison_document
    from assay.analysis.errors import BadRecord
    from assay.cli.lookup import AmbiguousRun
    from assay.ledger.comparing import records

    try:
        found = compare_runs(records(_runs(arguments.runs)))
    except AmbiguousRun as error:
        complain(str(error))
        return REFUSED
    except BadRecord as error:
        return refuse([error.finding], as_json=arguments.json)
    return print_compared(comparison_document(found), arguments)


def print_compared(found: Mapping[str, Any], arguments: argparse.Namespace) -> int:
    """A comparison's document as JSON or in words, wherever it comes from, and the exit code."""
    from assay.cli.compare_report import EVERYTHING, HEADLINES, print_comparison

    if arguments.json:
        print_json(found)
    else:
        print_comparison(found, EVERYTHING if arguments.all else HEADLINES)
    if found["refusals"]:
        complain(*(str(Finding(**refusal)) for refusal in found["refusals"]))
        return FAILED
    return DONE


def _runs(asked: Sequence[str]) -> "list[Run]":
    from assay.cli.lookup import one_run

    return [one_run(text) for text in asked]
