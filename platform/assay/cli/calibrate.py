"""``assay calibrate``: fit the named parameters of a step to the runs of a scan, and judge them on others."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from assay.analysis.calibration import CalibrationDocument, Identity
from assay.analysis.errors import ClaimRefused
from assay.analysis.fitting.fit import Scan, calibrate
from assay.analysis.fitting.points import steps_of
from assay.analysis.fitting.split import Split, alternate_split, declared_split
from assay.analysis.forecast.engine_limits import engine_limits
from assay.analysis.forecast.parameters import measured_parameters
from assay.analysis.perfmodel.errors import ModelRefused
from assay.analysis.predictions import executed_model
from assay.archive.benchmarks import stored_benchmarks
from assay.archive.errors import ArchiveError
from assay.archive.paths import Home, home_from_environment
from assay.archive.remote.fetching import bundle_folder
from assay.archive.scan_runs import ScanRun, scan_run
from assay.archive.step_calibrations import store
from assay.cli.calibration_report import document_of, show
from assay.cli.database import open_or_complain
from assay.cli.exits import DONE, REFUSED, complain, print_json, refuse
from runners.protocol import clocks
from runners.protocol.documents import Parameter

HELP = (
    "Fit a step's parameters by name (never one factor) to the steps of a scan's runs; whole cells are held "
    "out, by --holdout or alternately. Later runs of this engine and model here are predicted with it."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="*", metavar="RUN", help="run ids, or digests of bundles")
    parser.add_argument(
        "--study", action="append", default=[], help="every finished run of the newest such study"
    )
    parser.add_argument(
        "--holdout",
        action="append",
        default=[],
        metavar="FIELD=VALUE[,FIELD=VALUE]",
        help="hold out the cells that declare this, e.g. load.concurrency=2; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(arguments: argparse.Namespace) -> int:
    if (code := open_or_complain()) is not None:
        return code
    home = home_from_environment()
    try:
        rules = [holdout_rule(text) for text in arguments.holdout]
        runs = _runs(arguments.runs, arguments.study, home)
        calibration = fitted(runs, rules, home)
    except (ClaimRefused, ModelRefused) as refusal:
        return refuse([refusal.finding], as_json=arguments.json)
    except ArchiveError as error:
        complain(str(error))
        return REFUSED
    path, stored = store(home, calibration)
    rows = [one.row() for one in runs]
    if arguments.json:
        print_json(document_of(stored, path, rows))
    else:
        show(stored, path, rows)
    return DONE


def fitted(
    runs: Sequence[ScanRun], rules: Sequence[dict[str, str]], home: Home
) -> CalibrationDocument:
    """The calibration's document. Raises ClaimRefused where the runs do not make one scan."""
    identity = _one_identity(runs)
    split = _split(runs, rules)
    limits = engine_limits(runs[0].spec["engine"])
    executed, _ = executed_model(runs[0].spec, limits)
    known = measured_parameters(
        stored_benchmarks(home), dtype=executed.dtype, threads=limits.threads or 1
    )
    scan = Scan(
        steps=[s for r in runs for s in steps_of(r.steps, cell=r.cell.name, run=r.bundle[:12])],
        split=split,
        runs=[_run_entry(one, split) for one in runs],
        identity=identity,
        benchmark=_benchmark(known.parameters),
        made_at=clocks.utc(),
    )
    return calibrate(scan, executed, known)


def holdout_rule(text: str) -> dict[str, str]:
    """``FIELD=VALUE,FIELD=VALUE`` as a mapping."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name and mark and value for name, mark, value in pairs):
        raise ClaimRefused(
            field="--holdout",
            seen=text,
            allowed="FIELD=VALUE, several with commas",
            remedy="For example --holdout load.concurrency=2.",
        )
    return {name.strip(): value.strip() for name, _, value in pairs}


def _split(runs: Sequence[ScanRun], rules: Sequence[dict[str, str]]) -> Split:
    cells = [one.cell for one in runs]
    return declared_split(cells, rules) if rules else alternate_split(cells)


def _one_identity(runs: Sequence[ScanRun]) -> Identity:
    """All runs must be of one machine, engine, model and settings."""
    found = [one.identity for one in runs]
    for other in found[1:]:
        differing = [name for name in found[0] if other.get(name) != found[0].get(name)]
        if differing:
            raise ClaimRefused(
                field=differing[0],
                seen="runs that differ in it",
                allowed="runs of one machine, engine, model and settings",
                remedy="Calibrate each by itself.",
            )
    return found[0]


def _run_entry(one: ScanRun, split: Split) -> dict[str, Any]:
    seen = one.disturbance
    return {
        "bundle": one.bundle,
        "cell": one.cell.name,
        "side": split.side(one.cell.name),
        "others_cores_mean": seen.get("others_cores_mean"),
        "disturbed": seen.get("disturbed"),
    }


def _benchmark(parameters: Mapping[str, Parameter]) -> str:
    """The file that the measured figures come from, as their own reference names it."""
    named = [p["reference"] for p in parameters.values() if p["source"] == "micro-benchmark"]
    return str(named[0]) if named else "none"


def _runs(names: Sequence[str], studies: Sequence[str], home: Home) -> list[ScanRun]:
    from assay.cli.lookup import AmbiguousRun, one_run
    from assay.ledger import queries

    try:
        wanted = [one_run(name) for name in names]
    except AmbiguousRun as error:
        raise ArchiveError(str(error)) from error
    wanted += [run for name in studies for run in queries.runs_of_newest_study(name)]
    found = []
    for one in wanted:
        bundle = queries.bundle_of(one)
        reading = queries.interpretation_of(bundle) if bundle else None
        if bundle is None or reading is None:
            raise ArchiveError(
                f"run {one.id}: no interpreted bundle (allowed: a finished run). `assay show {one.id}`"
            )
        derived = home.derived / bundle.digest / reading.definition_version
        found.append(scan_run(bundle_folder(home, bundle.digest), derived))
    if not found:
        raise ClaimRefused(
            field="RUN",
            seen="no finished run",
            allowed="runs of a scan, or --study with the name of one",
            remedy="Run one first: make calibrate does both.",
        )
    return found
