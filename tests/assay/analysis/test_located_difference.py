"""Where client and server part, worked by hand."""

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.located_difference import (
    LocatedDifference,
    located_difference,
    side_in_the_wrong,
)
from tests.assay.analysis.test_stage_graph import CLIENT, MS, SERVER, lane


@pytest.mark.req("3.23")
def test_the_difference_lies_in_segments_that_add_up_to_it() -> None:
    found = located_difference(lane("client", CLIENT), lane("server", SERVER))

    # client 0..105 = 105 ms, server 3..99 = 96 ms: 3 ms before it, 6 ms after it
    assert (found.client_ns, found.server_ns) == (105 * MS, 96 * MS)
    assert [(s.name, s.ns) for s in found.segments] == [
        ("before the server", 3 * MS),
        ("after the server", 6 * MS),
    ]
    assert found.segments[0].between == ("created", "front_received")
    assert sum(s.ns for s in found.segments) == found.difference_ns


@pytest.mark.req("3.18")
@pytest.mark.forbids
def test_across_two_clocks_the_difference_stays_one_piece() -> None:
    found = located_difference(lane("client", CLIENT), lane("server", SERVER, domain="b"))

    assert found.segments == ()
    assert found.unsplit_ns == found.difference_ns == 9 * MS


@pytest.mark.req("3.23")
@pytest.mark.forbids
@pytest.mark.parametrize("domain", ["a", "b"])
def test_neither_side_is_declared_wrong(domain: str) -> None:
    found: LocatedDifference = located_difference(
        lane("client", CLIENT), lane("server", SERVER, domain=domain)
    )

    with pytest.raises(ClaimRefused, match="segments in which the difference lies"):
        side_in_the_wrong(found)
