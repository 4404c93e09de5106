"""``assay repeat RUN``: the same declaration again, here, and its outputs compared token id by token id."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from assay.cli.database import open_or_complain
from assay.cli.display import Display
from assay.cli.exits import DONE, FAILED, INTERRUPTED, REFUSED, complain, print_json, refuse
from assay.cli.interrupts import stop_on_signals
from experiments.errors import Finding

if TYPE_CHECKING:
    from assay.analysis.repetition.comparison import Repetition
    from assay.ledger.models import Run

HELP = (
    "Run a finished run's declaration again and compare token ids request by request. Exit code 0: all are "
    "equal; 1: some differ; 2: hardware, version or declaration differ, so that nothing can be claimed."
)
_SHOWN = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="run id or its beginning, or the digest of its bundle")
    parser.add_argument("--with", dest="other", help="compare with this run instead of a new one")
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    from assay.cli.lookup import AmbiguousRun, one_run

    try:
        first = one_run(arguments.run)
        again = one_run(arguments.other) if arguments.other else None
    except AmbiguousRun as error:
        complain(str(error))
        return REFUSED
    if again is None:
        again, code = _run_again(first, as_json=arguments.json)
        if again is None or code != DONE:
            return code
    return _compare(first, again, as_json=arguments.json)


def _run_again(first: "Run", *, as_json: bool) -> tuple["Run | None", int]:
    """The new run and its exit code; its repetition number is one more than the first's."""
    from assay.cli.run import check_pins, run_all
    from assay.execution.submitting import once_more
    from assay.ledger.models import Run
    from experiments.errors import Refusal

    try:
        spec = once_more(first)
    except Refusal as refusal:
        return None, refuse(refusal.findings, as_json=as_json)
    with stop_on_signals() as stopped, Display() as display:
        if (code := check_pins([spec], stopped, display, as_json=as_json)) is not None:
            return None, code
        ((run_id, outcome),) = run_all([f"repeat={first.pk}"], [spec], stopped, display)
    if outcome is None:
        return None, INTERRUPTED
    if outcome.exit_code:
        complain(f"run {run_id}: {outcome.reason}")
    return Run.objects.get(pk=run_id), outcome.exit_code


def _compare(first: "Run", again: "Run", *, as_json: bool) -> int:
    from assay.analysis.errors import ClaimRefused
    from assay.analysis.repetition.comparison import compare
    from assay.analysis.repetition.levels import numeric
    from assay.archive.repeated import outputs, setting

    bundles = [_bundle(one) for one in (first, again)]
    if None in bundles:
        lacking = (first, again)[bundles.index(None)]
        seen = f"run {lacking.pk} is {lacking.state} and has no bundle"
        return refuse([_finding("run", seen, "two sealed runs")], as_json=as_json)
    was, now = (bundle for bundle in bundles if bundle is not None)
    found = compare(outputs(was), outputs(now))
    try:
        evidence = numeric(setting(was), setting(now), found)
    except ClaimRefused as refused:
        _say(first, again, found, claim=None, as_json=as_json)
        return refuse([refused.finding], as_json=False)
    _say(first, again, found, claim=asdict(evidence), as_json=as_json)
    return DONE if evidence.held else FAILED


def _bundle(run: "Run") -> Any:
    from django.conf import settings

    from assay.archive.paths import Home
    from assay.archive.readers import Bundle
    from assay.archive.remote.fetching import bundle_folder
    from assay.ledger.queries import bundle_of

    row = bundle_of(run)
    return Bundle(bundle_folder(Home(settings.HOME), row.digest)) if row else None


def _say(
    first: "Run", again: "Run", found: "Repetition", *, claim: dict[str, Any] | None, as_json: bool
) -> None:
    rows = [asdict(row) for row in found.requests]
    if as_json:
        runs = {"first": str(first.pk), "again": str(again.pk)}
        print_json({**runs, "level": claim, "requests": rows})
        return
    for row in [r for r in rows if r["verdict"] != "equal"][:_SHOWN]:
        where = f"from token {row['at']} on" if row["at"] is not None else row["reason"]
        print(f"{row['request']}  {row['verdict']}  {where}")  # noqa: T201
    print(f"first   {first.pk}")  # noqa: T201
    print(f"again   {again.pk}")  # noqa: T201
    if claim is not None:
        held = "held" if claim["held"] else "failed"
        print(f"{claim['level']} level {held}: {claim['words']}")  # noqa: T201


def _finding(field: str, seen: str, allowed: str) -> Finding:
    return Finding(field=field, seen=seen, allowed=allowed, remedy="See assay show.")
