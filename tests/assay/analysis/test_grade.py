"""One letter for the client's figures, and why."""

from typing import Any

import pytest

from assay.analysis.grade import grade

GOOD: dict[str, Any] = {
    "client_limited": False,
    "client_limits": [],
    "disturbance": {
        "disturbed": False,
        "others_cores_mean": 0.05,
        "bound_cores": 0.2,
        "steal_cores_mean": 0.0,
    },
    "self_calibration": {"arrival_error": {"mean_ns": 1.0}, "disturbed": False},
}
DISTURBED = {**GOOD["disturbance"], "disturbed": True, "others_cores_mean": 0.31}


def test_a_run_that_kept_its_times_alone_on_its_host_is_an_a() -> None:
    assert grade(GOOD).letter == "A"
    assert grade(GOOD).reasons == ()


def test_a_disturbed_run_falls_to_c_and_says_by_how_much() -> None:
    found = grade({**GOOD, "disturbance": DISTURBED})

    assert found.letter == "C"
    assert "0.31 cores" in found.reasons[0]
    assert "bound: 0.2" in found.reasons[0]


def test_a_client_limited_run_is_a_d_whatever_else_holds() -> None:
    limited = {"client_limited": True, "client_limits": ["2 of 9 sends left late"]}

    found = grade({**GOOD, **limited, "disturbance": DISTURBED})

    assert found.letter == "D"
    assert found.reasons[0] == "client limited: 2 of 9 sends left late"
    assert len(found.reasons) == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"self_calibration": {"absent": "evidence.calibrate_client is false"}}, "is false"),
        ({"self_calibration": {"arrival_error": {}, "disturbed": True}}, "disturbed machine"),
        ({"self_calibration": {"arrival_error": {}, "disturbed": None}}, "disturbed machine"),
        ({"disturbance": {"disturbed": None, "reason": "no telemetry was kept"}}, "no telemetry"),
    ],
)
def test_what_was_not_measured_is_no_a(changes: dict[str, Any], reason: str) -> None:
    found = grade({**GOOD, **changes})

    assert found.letter == "B"
    assert reason in found.reasons[0]


def test_a_bundle_that_says_nothing_of_its_client_is_a_b_with_every_reason() -> None:
    assert grade({}).letter == "B"
    assert len(grade({}).reasons) == 3


def test_a_modified_engine_is_never_an_a_and_says_how() -> None:
    ran = {"answered": "2.13.0", "modified": "a declared delay of 0.02 s"}
    item = {"item": "engine_version", "ran": ran}

    found = grade(GOOD, [item])  # type: ignore[list-item]

    assert (found.letter, found.reasons) == ("B", ("modified engine: a declared delay of 0.02 s",))


@pytest.mark.parametrize("ran", [None, {"answered": "2.13.0"}], ids=["unknown", "as named"])
def test_an_engine_that_is_what_its_version_names_stays_an_a(ran: dict[str, str] | None) -> None:
    assert grade(GOOD, [{"item": "engine_version", "ran": ran}]).letter == "A"  # type: ignore[list-item]
