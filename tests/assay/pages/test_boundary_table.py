"""The boundary and the accounts of external dependencies as a page shows them."""

import pytest
from django.template.loader import render_to_string

from assay.analysis.boundary import HOP_SETTINGS, boundary_table
from assay.analysis.dependencies import account
from tests.assay.analysis.test_boundary import DECLARED
from tests.assay.analysis.test_dependencies import call
from tests.settings import INVALID_IN_TEMPLATE


@pytest.mark.req("2.03", "2.05", "2.06", "6.12")
def test_dependencies_segments_and_hops_stand_beside_the_six_fields() -> None:
    calls = [call("search", 0, 80), call("search", 10, 900, "timeout"), call("mail", 0, None)]
    text = render_to_string(
        "pages/run/_boundary.html",
        {
            "boundary": boundary_table(DECLARED),
            "hop_labels": [label for _, label in HOP_SETTINGS],
            "dependencies": account(calls, DECLARED["external_dependencies"]),
        },
    )

    assert INVALID_IN_TEMPLATE.split("%s")[0] not in text
    for words in (
        "assumption about tools",
        "search (mocked: its variability was outside the experiment",
        "introduced, configured by platform; upgraded by vendor",
        "response buffering",
        "proxy_buffering off",
        "not known",
        "called, and not among the declared dependencies of the boundary",  # mail
        "no call ended",
    ):
        assert words in text
    assert "900" in text  # its longest call in ms
