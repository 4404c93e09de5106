"""Predictions made with a calibration: fitted by name, marked by range, registered with its digest."""

from functools import cache

import pytest

from assay.analysis.calibration import Calibration, fitting
from assay.analysis.fitting.fit import calibrate
from assay.analysis.fitting.points import Shape
from assay.analysis.forecast.terms import STEP_OVERHEAD
from assay.analysis.predictions import build_predictions
from runners.protocol.documents import PredictionsDocument
from tests.assay.analysis import benchmarks, scans
from tests.assay.analysis.run_specs import PLAN_DIGEST, spec


@cache
def calibration() -> Calibration:
    document = calibrate(scans.scan(scans.steps(noise=0.03)), scans.EXECUTED, scans.known())
    return Calibration(document=document, digest="d" * 64)


def predicted(used: Calibration | None) -> PredictionsDocument:
    return build_predictions(
        spec(), {"plan_digest": PLAN_DIGEST}, [benchmarks.document()], "t", calibration=used
    )


@pytest.mark.req("13.19", "13.20", "13.26")
def test_a_prediction_names_the_calibration_it_was_made_with() -> None:
    document = predicted(calibration())

    assert document["calibration"] == "d" * 64
    (overhead,) = [p for p in document["parameters"] if p["name"] == STEP_OVERHEAD]
    assert overhead["source"] == "fit"
    assert "assumed before" in overhead["reference"]
    assert any("no factor scales the sum" in line for line in document["assumptions"])
    assert any("held-out: decode" in line for line in document["assumptions"])
    assert "calibration" not in predicted(None)


@pytest.mark.req("13.25")
def test_rows_are_calibrated_inside_the_fitted_range_and_extrapolated_outside() -> None:
    rows = predicted(calibration())["predictions"]

    steps = {
        (r["conditions"]["segment"], r["conditions"]["batch"], r["conditions"]["context_tokens"]): r
        for r in rows
        if r["quantity"] == "decode_step"
    }
    # fitted: batches 1 to 8, contexts 64 to 2,071, and at most 2,071 stored tokens together
    assert steps["load", 4, 76]["validity"] == "calibrated"
    assert steps["cases", 1, 1032]["validity"] == "calibrated"
    assert steps["cases", 1, 40]["validity"] == "extrapolated"
    others = {r["validity"] for r in rows if r["quantity"] in ("ttft", "time_to_last_token")}
    assert others == {"extrapolated"}  # the front end is assumed, whatever the steps are


@pytest.mark.req("13.24")
def test_ranges_are_those_of_cells_left_out_and_not_of_parameters() -> None:
    document = predicted(calibration())

    low, high = calibration().spread(0.9).ends("decode")
    (row,) = [
        r
        for r in document["predictions"]
        if r["quantity"] == "decode_step"
        and (r["conditions"]["segment"], r["conditions"]["batch"]) == ("load", 4)
    ]
    assert row["estimate"] is not None
    assert row["range"] == pytest.approx([row["estimate"] * low, row["estimate"] * high])
    assert row["estimate"] == pytest.approx(
        scans.true_seconds(Shape(phase="decode", batch=4, new=1, stored=76, sampled=4)),
        rel=0.05,
    )


def test_a_calibration_from_disturbed_runs_says_so_in_every_prediction_made_with_it() -> None:
    quiet = calibration()
    runs = [{**run, "disturbed": n < 2} for n, run in enumerate(quiet.document["runs"])]
    noisy = Calibration(document={**quiet.document, "runs": runs}, digest="e" * 64)

    assert quiet.disturbed is None
    (said,) = [a for a in predicted(noisy)["assumptions"] if a.startswith("calibration disturbed")]
    assert "2 of its 9 runs" in said


def test_the_newest_calibration_of_the_same_machine_engine_and_model_is_taken() -> None:
    first = calibration()
    later = Calibration(
        document={**first.document, "made_at": "2026-12-01T00:00:00Z"}, digest="e" * 64
    )

    assert fitting([later, first], scans.IDENTITY) == later
    assert fitting([first], {**scans.IDENTITY, "engine_version": "2.14.0"}) is None
