"""What a declaration keeps out of the experiment is said with its results."""

from typing import Any

import pytest

from runners.evidence.declared_limits import declared_limits
from tests.experiments.declarations import changed, example

MOCKED = {"name": "retrieval", "mocked": True, "fixed_delay_s": 0.05}
REAL = {"name": "search", "mocked": False, "fixed_delay_s": None}


def said(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(gap["what"], gap["affects"]) for gap in declared_limits(document)]


def loaded(*dependencies: dict[str, Any]) -> dict[str, Any]:
    document = changed(example(), "boundary.external_dependencies", list(dependencies))
    return changed(document, "load.concurrency", 2)


def test_a_load_of_several_requests_without_dependencies_has_nothing_to_say() -> None:
    assert said(loaded()) == []


@pytest.mark.req("2.06")
def test_a_mocked_dependency_marks_the_results() -> None:
    ((what, affects),) = said(loaded(MOCKED, REAL))

    assert (
        what == "the variability of retrieval, which is mocked (a fixed delay of 0.05 s stands in)"
    )
    assert "its variability is outside the experiment" in affects


@pytest.mark.req("2.12")
@pytest.mark.parametrize(("path", "value"), [("load.concurrency", 1), ("workload.requests", 0)])
def test_a_light_load_is_labelled_as_baseline_and_control(path: str, value: int) -> None:
    ((what, affects),) = said(changed(loaded(), path, value))

    assert what.endswith(
        "this light load, one request at a time, is a baseline and diagnostic control"
    )
    assert affects == "capacity, and tail latency at high load"


@pytest.mark.req("6.12")
def test_a_hop_of_unknown_settings_is_a_gap_that_names_them() -> None:
    known = dict.fromkeys(
        (
            "response_buffering",
            "compression",
            "chunk_granularity",
            "protocol_conversion",
            "client_parsing",
            "render_throttling",
        ),
        "none",
    )
    hops = [
        {"name": "engine", **known},
        {"name": "gateway", **known, "response_buffering": None, "compression": None},
    ]

    ((what, affects),) = said(changed(loaded(), "boundary.hops", hops))

    assert what == "response buffering, compression at the hop gateway"
    assert affects == "where a stream that comes in steps was held back"
