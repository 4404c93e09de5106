"""A fit finds named parameters on some cells and is judged on others; it never scales the whole."""

from dataclasses import replace

import pytest

from assay.analysis.calibration import Calibration, CalibrationDocument
from assay.analysis.errors import ClaimRefused
from assay.analysis.fitting.fit import calibrate
from assay.analysis.forecast.parameters import Known
from assay.analysis.forecast.terms import (
    LAYER_LAUNCH,
    PROMPT_MASK,
    SAMPLED_ROW,
    STATE_READ,
    STATE_VIEW,
    STEP_OVERHEAD,
)
from runners.protocol.documents import Parameter
from runners.protocol.manifest import canonical
from tests.assay.analysis import scans


def fitted(*, noise: float = 0.0, factor: float = 1.0) -> CalibrationDocument:
    found = scans.steps(noise=noise, factor=factor)
    return calibrate(scans.scan(found), scans.EXECUTED, scans.known())


def parameter(document: CalibrationDocument, name: str) -> Parameter:
    (found,) = [p for p in document["parameters"] if p["name"] == name]
    return found


@pytest.mark.req("13.20", "13.24", "13.26")
def test_the_assumed_parameters_are_found_by_name() -> None:
    document = fitted()

    for name in (STEP_OVERHEAD, SAMPLED_ROW, STATE_VIEW, PROMPT_MASK):
        found = parameter(document, name)
        assert found["value"] == pytest.approx(scans.TRUE[name], rel=0.1), name
        assert found["source"] == "fit"
    assert "coefficients are no physical peaks" in document["formula"]
    canonical(document)  # it is hashed


@pytest.mark.req("13.24")
def test_errors_of_both_sides_are_reported_apart() -> None:
    document = fitted(noise=0.04)

    # gaussian noise of 4 %: half of the errors lie under 0.674 x 4 % = 2.7 %
    for side in ("calibration", "holdout"):
        found = document["errors"][side]["decode"]
        assert found["n"] == {"calibration": 168, "holdout": 48}[side]
        assert found["median"] == pytest.approx(0.027, abs=0.012)
        assert found["worst"] < 0.2
        assert found["worst_step"]
    assert document["split"]["holdout"] == list(scans.HELD_OUT)


@pytest.mark.req("13.24")
def test_a_90_percent_range_holds_about_90_percent_of_steps_it_has_not_seen() -> None:
    document = fitted(noise=0.05)

    found = document["errors"]["holdout"]["decode"]
    low, high = found["interval"]
    assert low <= 0.9 <= high, found


@pytest.mark.req("13.23", "13.26")
@pytest.mark.forbids
def test_no_factor_absorbs_a_uniform_slowness_that_no_parameter_has() -> None:
    # Everything takes twice as long. Measured figures stay inside their own spreads, there is nothing that
    # scales the sum, and the fixed cost that takes it up is named as outside what was assumed: twice the
    # matrices' 26.9 ms at one row alone is 27 ms more, against 0.2 to 4 ms.
    document = fitted(factor=2.0)

    known = scans.known().parameters
    for found in document["parameters"]:
        before = known.get(found["name"])
        if before is not None and before["source"] == "micro-benchmark":
            low, high = before["spread"] or [before["value"]] * 2
            assert low * (1 - 1e-6) <= found["value"] <= high * (1 + 1e-6), found["name"]
    assert any(line.startswith(f"{STEP_OVERHEAD}: fitted") for line in document["to_verify"])
    assert "would settle" in document["to_verify"][0]


def test_what_the_cells_cannot_tell_apart_is_named() -> None:
    # 30 layers in every step: a cost of the step and one of its layers move together
    assert f"{LAYER_LAUNCH} and {STEP_OVERHEAD}" in fitted()["inseparable"]


def test_a_held_up_step_does_not_move_the_fit() -> None:
    found = scans.steps()
    late = [
        replace(s, measured_s=s.measured_s * 5) if n % 9 == 4 else s for n, s in enumerate(found)
    ]

    document = calibrate(scans.scan(late), scans.EXECUTED, scans.known())

    assert parameter(document, STEP_OVERHEAD)["value"] == pytest.approx(12e-3, rel=0.25)


@pytest.mark.req("13.24")
@pytest.mark.forbids
def test_a_cell_may_not_fit_and_judge() -> None:
    scan = scans.scan(scans.steps())
    both = replace(scan, split=replace(scan.split, fitted=tuple(scans.CELLS)))

    with pytest.raises(ClaimRefused, match="disjoint calibration and holdout"):
        calibrate(both, scans.EXECUTED, scans.known())


@pytest.mark.req("13.28")
@pytest.mark.forbids
def test_a_rated_specification_is_no_calibration_point() -> None:
    known = scans.known()
    known.parameters[STATE_READ] |= {"source": "specification"}

    with pytest.raises(ClaimRefused, match="rated specification"):
        calibrate(scans.scan(scans.steps()), scans.EXECUTED, known)


@pytest.mark.forbids
def test_without_a_measured_machine_or_a_second_cell_nothing_is_fitted() -> None:
    with pytest.raises(ClaimRefused, match="assay device measure"):
        calibrate(scans.scan(scans.steps()), scans.EXECUTED, Known())
    decode_only = [s for s in scans.steps() if s.shape.phase == "decode"]
    with pytest.raises(ClaimRefused, match="prompt steps"):
        calibrate(scans.scan(decode_only), scans.EXECUTED, scans.known())


@pytest.mark.req("13.25")
@pytest.mark.parametrize(
    ("batch", "context", "validity"),
    [
        (1, 64, "calibrated"),
        (1, 2071, "calibrated"),
        (4, 80, "calibrated"),  # between the fitted batches
        (9, 64, "extrapolated"),
        (1, 4000, "extrapolated"),
        (8, 2048, "extrapolated"),  # each alone was seen, 16,384 stored tokens together were not
    ],
)
def test_only_the_fitted_range_is_calibrated(batch: int, context: int, validity: str) -> None:
    calibration = Calibration(document=fitted(), digest="d" * 64)

    assert calibration.decode_validity(batch=batch, context=context) == validity


@pytest.mark.req("13.25")
def test_prompts_longer_than_any_fitted_one_are_extrapolated() -> None:
    calibration = Calibration(document=fitted(), digest="d" * 64)

    assert calibration.prompt_validity(chunk=256, end=1024) == "calibrated"
    assert calibration.prompt_validity(chunk=512, end=1024) == "extrapolated"
    assert calibration.prompt_validity(chunk=256, end=8000) == "extrapolated"
