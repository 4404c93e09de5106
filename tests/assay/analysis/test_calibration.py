"""Calibration fits named parameters and is judged on points it has not seen."""

from collections.abc import Sequence

import pytest

from assay.analysis.calibration import (
    SHARED_CORE,
    STEP_OVERHEAD,
    Calibration,
    Point,
    calibrate,
)
from assay.analysis.errors import ClaimRefused
from assay.analysis.predictions import build_predictions
from tests.assay.analysis import benchmarks
from tests.assay.analysis.run_specs import PLAN_DIGEST, spec


def points(ids: Sequence[int], *, source: str = "measured") -> list[Point]:
    """T = explained + 2 ms + 0.5 ms a token, exactly."""
    return [
        Point(
            id=f"step-{n}",
            tokens=1 + n % 4,
            context_tokens=40 + 10 * n,
            explained_s=0.03 + n * 1e-5,
            measured_s=0.03 + n * 1e-5 + 2e-3 + 0.5e-3 * (1 + n % 4),
            source=source,
        )
        for n in ids
    ]


def fitted() -> Calibration:
    holdout = points(range(20, 30))
    return calibrate(points(range(20)), holdout, reference="bundle x", date="2026-11-01")


@pytest.mark.req("13.24", "13.26")
def test_named_parameters_are_found_and_both_error_distributions_reported() -> None:
    found = fitted()

    assert found.fits[STEP_OVERHEAD].value == pytest.approx(2e-3, rel=1e-6)
    assert found.fits[SHARED_CORE].value == pytest.approx(0.5e-3, rel=1e-6)
    assert found.calibration_errors.n == 20
    assert found.holdout_errors.n == 10
    assert found.holdout_errors.worst < 1e-9
    assert found.parameter(STEP_OVERHEAD)["source"] == "fit"


def test_a_bad_holdout_point_shows_in_the_holdout_errors_only() -> None:
    held = points(range(20, 30))
    bad = Point(id="odd", tokens=1, context_tokens=60, explained_s=0.03, measured_s=0.065)

    found = calibrate(points(range(20)), [*held, bad], reference="x", date="d")

    # predicted 32.5 ms, measured 65 ms
    assert found.holdout_errors.worst == pytest.approx(1.0, rel=1e-6)
    assert found.holdout_errors.worst_id == "odd"
    assert found.calibration_errors.worst < 1e-9


@pytest.mark.req("13.24")
@pytest.mark.forbids
def test_a_point_may_not_fit_and_judge() -> None:
    with pytest.raises(ClaimRefused, match="disjoint"):
        calibrate(points(range(20)), points(range(19, 30)), reference="x", date="d")


@pytest.mark.req("13.28")
@pytest.mark.forbids
def test_a_rated_specification_is_no_calibration_point() -> None:
    with pytest.raises(ClaimRefused, match="rated specification"):
        calibrate(points(range(20), source="specification"), points([30]), reference="x", date="d")


@pytest.mark.forbids
def test_too_few_points_are_refused() -> None:
    with pytest.raises(ClaimRefused, match="at least 8"):
        calibrate(points(range(7)), points([30]), reference="x", date="d")
    with pytest.raises(ClaimRefused, match="held out"):
        calibrate(points(range(20)), [], reference="x", date="d")


@pytest.mark.req("13.26")
@pytest.mark.forbids
def test_a_uniform_inefficiency_is_not_absorbed_but_shown() -> None:
    # Every step takes 1.5 times its explained part, 1 ms to 30 ms: one factor would hide it all.
    slow = [
        Point(
            id=f"slow-{n}",
            tokens=1 + n % 4,
            context_tokens=50,
            explained_s=n * 1e-3,
            measured_s=1.5 * n * 1e-3,
        )
        for n in range(1, 31)
    ]

    found = calibrate(slow[::2], slow[1::2], reference="x", date="d")

    assert set(found.fits) == {STEP_OVERHEAD, SHARED_CORE}
    assert found.holdout_errors.worst > 0.1
    plain, fit = (
        build_predictions(
            spec(), {"plan_digest": PLAN_DIGEST}, [benchmarks.document()], "t", calibration=used
        )
        for used in (None, found)
    )
    measured = [p for p in plain["parameters"] if p["source"] == "micro-benchmark"]
    assert [p for p in fit["parameters"] if p["source"] == "micro-benchmark"] == measured
    (said,) = [a for a in fit["assumptions"] if "the formula is" in a]
    assert "empirical, over serial steps" in said
    assert "no physical peaks" in said


@pytest.mark.req("13.25")
def test_what_lies_outside_the_fitted_range_is_extrapolation() -> None:
    found = fitted()

    assert found.validity(tokens=4, context_tokens=60) == "calibrated"
    assert found.validity(tokens=5, context_tokens=60) == "extrapolated"
    assert found.validity(tokens=4, context_tokens=1000) == "extrapolated"


@pytest.mark.req("13.20", "13.25", "13.26")
def test_a_calibration_replaces_assumptions_by_name_and_nothing_else() -> None:
    plain = build_predictions(spec(), {"plan_digest": PLAN_DIGEST}, [benchmarks.document()], "t")
    fit = build_predictions(
        spec(), {"plan_digest": PLAN_DIGEST}, [benchmarks.document()], "t", calibration=fitted()
    )

    before = {p["name"]: p for p in plain["parameters"]}
    after = {p["name"]: p for p in fit["parameters"]}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {STEP_OVERHEAD, SHARED_CORE}
    assert after[STEP_OVERHEAD]["source"] == "fit"
    steps = [r for r in fit["predictions"] if r["quantity"] == "decode_step"]
    assert {r["validity"] for r in steps} == {"calibrated", "extrapolated"}
