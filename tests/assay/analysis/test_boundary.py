"""The boundary of a run as a table."""

from typing import Any

import pytest

from assay.analysis.boundary import boundary_table

DECLARED: dict[str, Any] = {
    "sut": "gateway and engine",
    "included": ["gateway", "engine"],
    "external_dependencies": [
        {"name": "search", "mocked": True, "fixed_delay_s": 0.05},
        {"name": "rates", "mocked": False, "fixed_delay_s": None},
    ],
    "dependency_accounting": "each on its own",
    "tool_assumption": "one tool a task",
    "exclusions": [],
    "segments": [
        {
            "name": "gateway",
            "introduced_by": "platform",
            "configured_by": "platform",
            "upgraded_by": "vendor",
            "measurable_alone": False,
            "regression_owner": "platform",
        }
    ],
    "hops": [{"name": "gateway", "response_buffering": "proxy_buffering off", "compression": None}],
}


@pytest.mark.req("2.01", "2.06")
def test_it_has_six_fields_and_marks_what_is_mocked() -> None:
    assert boundary_table(DECLARED).fields == (
        ("system under test", ("gateway and engine",)),
        ("included parts", ("gateway", "engine")),
        (
            "external dependencies",
            (
                "search (mocked: its variability was outside the experiment, "
                "a fixed delay of 0.05 s stands in)",
                "rates (real)",
            ),
        ),
        ("how dependencies are accounted", ("each on its own",)),
        ("assumption about tools", ("one tool a task",)),
        ("exclusions", ("none",)),
    )
    assert boundary_table(DECLARED).mocked == ("search",)


@pytest.mark.req("2.03", "2.04")
def test_each_segment_answers_three_questions() -> None:
    (segment,) = boundary_table(DECLARED).segments

    assert segment.who == "introduced, configured by platform; upgraded by vendor"
    assert segment.attribution == "only seen as part of a whole: no share is attributed to it"
    assert segment.regression_owner == "platform"


@pytest.mark.req("6.12")
def test_a_setting_of_a_hop_that_nobody_stated_is_not_known() -> None:
    (hop,) = boundary_table(DECLARED).hops

    assert hop.settings == ("proxy_buffering off", *["not known"] * 5)


def test_a_declaration_that_lacks_a_field_says_so() -> None:
    found = boundary_table({"sut": "engine"})

    assert found.fields[1] == ("included parts", ("not known",))
    assert (found.segments, found.hops, found.mocked) == ((), (), ())
