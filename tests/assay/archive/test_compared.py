"""What a bundle and its reading hold for a comparison."""

import json
from pathlib import Path

import pytest

from assay.archive import compared
from runners.protocol import layout
from tests.assay.archive import written
from tests.assay.pages import simulated

RULE = "ttft.first_content.client"


@pytest.fixture
def reading(tmp_path: Path) -> Path:
    written.write(tmp_path, simulated.interpretation("d" * 64, []))
    return tmp_path


def test_the_population_is_that_of_the_load(reading: Path) -> None:
    found = compared.population(reading, {})

    assert found is not None
    assert (found.group, found.offered, found.completed) == ("segment load", 24, 20)
    assert sum(found.output_lengths.values()) == 20


def test_a_reading_without_attempts_has_no_population_and_no_curve(tmp_path: Path) -> None:
    assert compared.population(tmp_path, {}) is None
    values, offered = compared.curve(tmp_path, RULE)
    assert (len(values), offered) == (0, 0)


def test_a_reading_that_comes_later_is_read_then(tmp_path: Path) -> None:
    assert compared.population(tmp_path, {}) is None

    written.write(tmp_path, simulated.interpretation("d" * 64, []))

    assert compared.population(tmp_path, {}) is not None


def test_a_curve_holds_completed_attempts_and_counts_all_that_were_offered(reading: Path) -> None:
    values, offered = compared.curve(reading, RULE)

    assert (len(values), offered) == (20, 24)
    assert list(values) == sorted(values)


def test_only_curves_of_known_rules_are_read(reading: Path) -> None:
    values, offered = compared.curve(reading, "client_state")

    assert (len(values), offered) == (0, 0)


def test_caps_of_cases_are_counted_by_their_path(reading: Path) -> None:
    found = compared.population(
        reading, {"workload": {"cases": [{"name": "short"}, {"name": "x"}]}}
    )

    assert found is not None
    assert set(found.at_cap) == {
        "workload.output_tokens",
        "workload.cases.0.output_tokens",
        "workload.cases.1.output_tokens",
    }
    assert found.at_cap["workload.cases.1.output_tokens"] is None  # no such case was sent


def test_what_a_bundle_does_not_have_is_null(tmp_path: Path) -> None:
    (tmp_path / layout.MANIFEST).write_text("{}", encoding="utf-8")
    (tmp_path / layout.HOST).write_text(json.dumps({"fingerprint": "f"}), encoding="utf-8")
    error = {"client_error": {"self_calibration": {"client_version": "a1b2"}}}
    (tmp_path / layout.CLOCKS).write_text(json.dumps(error), encoding="utf-8")

    found = compared.observed(tmp_path)

    assert (found.identity, found.packages) == (None, None)
    assert found.host == {"fingerprint": "f"}
    assert found.client_source == "a1b2"


def test_a_bundle_that_is_not_here_shows_nothing(tmp_path: Path) -> None:
    assert compared.observed(tmp_path / "elsewhere").identity is None
