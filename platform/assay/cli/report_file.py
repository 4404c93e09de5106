"""``assay report run|compare|review|check``: a report as one file, and whether a file's data are whole."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from assay.analysis.report_data import FoundData, found_data
from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, FAILED, REFUSED, complain, print_json, refuse
from experiments.errors import Finding, Refusal

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

HELP = (
    "Write a run, a comparison or a review as one HTML file that opens without a server, or check the data "
    "in such a file against the hash it states."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    one = kinds.add_parser("run", help="one run: overview, latency, residuals, identity, evidence")
    one.add_argument("run", help="run id or its beginning, or a bundle digest")
    several = kinds.add_parser("compare", help="two to eight runs; the first one is the reference")
    several.add_argument("runs", nargs="+", metavar="RUN", help="as `assay compare` takes them")
    review = kinds.add_parser("review", help="a review with its runs, verdicts and trail")
    review.add_argument("review", help="review id, or its beginning")
    check = kinds.add_parser("check", help="compute the hash of a file's data again")
    check.add_argument("file", type=Path)
    for verb in (one, several, review):
        verb.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="a new file; without it, here, by the page's name",
        )
    for verb in kinds.choices.values():
        verb.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if arguments.kind == "check":
        return _check(arguments)
    if (code := open_or_complain()) is not None:
        return code
    from assay.cli.lookup import AmbiguousRun

    try:
        answer = _asked(arguments)
    except AmbiguousRun as error:
        complain(str(error))
        return REFUSED
    except Refusal as refusal:
        return refuse(refusal.findings, as_json=arguments.json)
    return _write(answer, arguments)


def _asked(arguments: argparse.Namespace) -> "HttpResponseBase":
    from assay.cli.lookup import one_run
    from assay.cli.page_here import page_here

    if arguments.kind == "run":
        return page_here("run-report", run_id=one_run(arguments.run).pk)
    if arguments.kind == "compare":
        runs = [("run", str(one_run(text).pk)) for text in arguments.runs]
        _refuse_early(runs)
        return page_here("compare-report", query=runs)
    from assay.accounts.access import Access
    from assay.accounts.services import local_user
    from assay.cli.review import one_review

    return page_here(
        "review-report", review_id=one_review(arguments.review, Access(user=local_user())).pk
    )


def _refuse_early(runs: list[tuple[str, str]]) -> None:
    """In the words of a command: the page would refuse the same in a page. Raises Refusal."""
    from assay.analysis.comparability.comparison import FEWEST_RUNS
    from assay.analysis.comparability.sides import MOST_RUNS
    from experiments.errors import refuse as refusal_of

    if not FEWEST_RUNS <= len(runs) <= MOST_RUNS or len(set(runs)) < len(runs):
        raise refusal_of(
            field="runs",
            seen=f"{len(runs)} runs, {len(set(runs))} different ones",
            allowed=f"{FEWEST_RUNS} to {MOST_RUNS} different runs",
            remedy="`assay list` prints ids.",
        )


def _write(answer: "HttpResponseBase", arguments: argparse.Namespace) -> int:
    content = answer.content  # type: ignore[attr-defined]
    file = arguments.out or Path(_name(answer["Content-Disposition"]))
    try:
        with file.open("xb") as stream:
            stream.write(content)
    except FileExistsError:
        complain(f"--out: {file} exists (allowed: a new file). Name another one")
        return REFUSED
    except OSError as error:
        complain(f"--out: {file}: {error.strerror} (allowed: a file that can be written)")
        return REFUSED
    found = found_data(content.decode())
    assert found is not None
    document = {"file": str(file.resolve()), "bytes": len(content), "data_sha256": found.stated}
    if arguments.json:
        print_json(document)
    else:
        print(f"{file}  {len(content)} bytes  data {found.stated}")  # noqa: T201
    return DONE


def _name(disposition: str) -> str:
    found = re.search(r'filename="([\w.-]+)"', disposition)
    assert found is not None
    return found[1]


def _check(arguments: argparse.Namespace) -> int:
    try:
        text = arguments.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        complain(f"file: {arguments.file}: {error} (allowed: a report that can be read)")
        return REFUSED
    found = found_data(text)
    if found is None:
        finding = Finding(
            field="file",
            seen=f"{arguments.file}: no data of a report",
            allowed="a file that `assay report` or a page wrote",
            remedy="Write it again from the installation that has the runs.",
        )
        return refuse([finding], as_json=arguments.json)
    if arguments.json:
        print_json({"stated": found.stated, "computed": found.computed, "holds": found.holds})
    else:
        print(_words(found))  # noqa: T201
    return DONE if found.holds else FAILED


def _words(found: FoundData) -> str:
    if found.holds:
        return f"whole: the data have the hash that the file states, {found.computed}"
    return f"changed: the file states {found.stated or 'no hash'}, its data have {found.computed}"
