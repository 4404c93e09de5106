"""From sealed bundles of a scan to a stored calibration, and from there to the next run's predictions."""

import json
import shutil
from pathlib import Path

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.forecast.terms import STEP_OVERHEAD
from assay.analysis.predictions import build_predictions
from assay.archive.benchmarks import stored_benchmarks
from assay.archive.paths import Home
from assay.archive.scan_runs import ScanRun
from assay.archive.step_calibrations import calibration_for, store, stored_calibrations
from assay.cli.calibrate import fitted, holdout_rule
from assay.execution.leases import Claim
from assay.execution.preparing import Prepared
from assay.execution.registering import register_predictions
from assay.ledger.ids import uuid7
from tests.assay.analysis import scans
from tests.assay.archive import made_scan

RULES = [{"load.concurrency": "4"}, {"workload.input_tokens": "512"}]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("scan"))
    made_scan.measured_host(home)
    return home


@pytest.fixture(scope="module")
def runs(home: Home) -> list[ScanRun]:
    return made_scan.cells(home)


@pytest.mark.req("11.04", "13.24", "13.25")
def test_a_scan_calibrates_the_next_run_of_the_same_engine(home: Home, runs: list[ScanRun]) -> None:
    document = fitted(runs, RULES, home)
    path, stored = store(home, document)

    spec = made_scan.cell_spec("64 in, 4 at once")
    found = calibration_for(home, spec)
    assert found is not None
    assert (found.digest, json.loads(path.read_bytes())) == (stored.digest, document)
    predictions = build_predictions(
        spec, {"plan_digest": "p" * 64}, stored_benchmarks(home), "t", calibration=found
    )
    (row,) = [
        r
        for r in predictions["predictions"]
        if r["quantity"] == "decode_step" and r["conditions"]["batch"] == 4
    ]
    assert row["validity"] == "calibrated"
    (overhead,) = [p for p in predictions["parameters"] if p["name"] == STEP_OVERHEAD]
    assert overhead["value"] == pytest.approx(scans.TRUE[STEP_OVERHEAD], rel=0.3)
    assert document["errors"]["holdout"]["decode"]["median"] < 0.15
    assert {run["side"] for run in document["runs"]} == {"calibration", "holdout"}
    assert {run["others_cores_mean"] for run in document["runs"]} == {0.05}


def test_another_thread_count_is_not_calibrated_by_it(
    home: Home, runs: list[ScanRun], tmp_path: Path
) -> None:
    store(Home(tmp_path), fitted(runs, RULES, home))
    other = made_scan.cell_spec("64 in, 4 at once")
    other["engine"]["settings"]["threads"] = 1

    assert calibration_for(Home(tmp_path), other) is None


def test_a_torn_file_is_passed_over(tmp_path: Path) -> None:
    folder = Home(tmp_path).step_calibrations / "host"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text('{"kind": "assay-step-cal')

    assert stored_calibrations(Home(tmp_path), fingerprint="host") == []


@pytest.mark.req("11.05")
def test_the_scan_is_told_by_counted_tokens_and_not_by_limits(runs: list[ScanRun]) -> None:
    row = next(one for one in runs if one.cell.name.startswith("2048 in")).row()

    # the one request with a recorded reply was counted at 32 tokens in and 3 out, whatever was declared
    assert (row.input_tokens, row.output_tokens) == (32, (3, 3, 3))
    # sent 301, first content 331 ms
    assert row.ttft_s == pytest.approx(0.030)
    assert row.others_cores == 0.05
    point = next(one for one in runs if one.cell.name.startswith("2048 in")).point()
    assert (point.input_tokens, point.output_tokens, point.cap) == (32, 3, 24)


@pytest.mark.forbids
def test_runs_of_two_machines_are_not_one_scan(home: Home, runs: list[ScanRun]) -> None:
    class Elsewhere:
        cell, identity = runs[0].cell, {**runs[0].identity, "host_fingerprint": "other"}

    with pytest.raises(ClaimRefused, match="host_fingerprint"):
        fitted([*runs, Elsewhere()], RULES, home)  # type: ignore[list-item]  # only its identity is read


@pytest.mark.forbids
@pytest.mark.parametrize("text", ["load.concurrency", "=4", "load.concurrency=4,"])
def test_a_holdout_that_names_no_value_is_refused(text: str) -> None:
    with pytest.raises(ClaimRefused, match="FIELD=VALUE"):
        holdout_rule(text)


def test_a_holdout_may_name_several_fields() -> None:
    assert holdout_rule("load.concurrency=4, workload.input_tokens=64") == {
        "load.concurrency": "4",
        "workload.input_tokens": "64",
    }


@pytest.mark.req("13.19")
def test_predictions_are_registered_with_the_calibrations_digest(
    home: Home, runs: list[ScanRun], tmp_path: Path
) -> None:
    own = Home(tmp_path / "home")
    shutil.copytree(home.devices, own.devices)
    _, stored = store(own, fitted(runs, RULES, home))
    claim = Claim(
        execution_id=uuid7(), run_id=uuid7(), token="t", study="made", repetition=0, position=0, runs=1,
        spec=made_scan.cell_spec("64 in, 4 at once"), spec_digest="s" * 64, folder=tmp_path, devices=(),
    )  # fmt: skip
    prepared = Prepared(
        exit_code=0, findings=(), plan_digest="p" * 64, plan={}, estimated_bytes=0, interrupted=False,
        log_tail="",
    )  # fmt: skip

    why = register_predictions(
        claim, prepared, home=own, bundle=tmp_path, should_stop=lambda: False, say=lambda *_: None
    )

    document = json.loads((tmp_path / "predictions.json").read_bytes())
    assert why == ""
    assert document["calibration"] == stored.digest
