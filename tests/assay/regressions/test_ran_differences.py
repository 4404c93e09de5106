"""In what two runs differ as they ran: only of what both show."""

from typing import Any

from assay.regressions.ran_differences import differences

OLD: dict[str, Any] = {
    "engine_version": {"answered": "0.29.0"},
    "model_runner": None,  # its log has another form: nobody read it
    "hardware_runtime": {"block_size": 128, "pid": 7, "load_times": {"weights_s": 1.5}},
}


def fields(after: dict[str, Any], before: dict[str, Any] = OLD) -> dict[str, tuple[Any, Any]]:
    return {str(d["field"]): (d["before"], d["after"]) for d in differences(before, after)}


def test_a_field_that_both_state_differently_is_named() -> None:
    assert fields({**OLD, "engine_version": {"answered": "0.32.0"}}) == {
        "ran.engine_version.answered": ("0.29.0", "0.32.0")
    }


def test_an_item_that_one_of_them_does_not_show_is_no_difference() -> None:
    shown = {**OLD, "model_runner": {"runner": "V1", "max_model_len": 2048}}

    assert fields(shown) == fields(OLD, before=shown) == {}
    assert fields({}) == fields(OLD, before={}) == {}


def test_what_only_one_says_within_an_item_that_both_state_is_named() -> None:
    after = {**OLD, "engine_version": {"answered": "0.29.0", "modified": "a declared delay"}}

    assert fields(after) == {"ran.engine_version.modified": (None, "a declared delay")}


def test_what_is_read_off_a_running_machine_points_at_nothing() -> None:
    after = {
        **OLD,
        "hardware_runtime": {"block_size": 128, "pid": 8, "load_times": {"weights_s": 9.0}},
    }

    assert fields(after) == {}
