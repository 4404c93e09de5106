"""What does not fit one device is reached over a link, which the reader names, at its price."""

from typing import Any

import pytest

from assay.pages.contexts.spilled import Spilled, spilled

GB = 10**9
ANSWER: dict[str, Any] = {
    "memory": {"device_bytes": 80 * GB, "known_bytes": 100 * GB},
    "device": {"bandwidth_bytes_per_s": 4000.0 * GB},
}


def found(**link: str) -> Spilled:
    seen = spilled(ANSWER, link)
    assert seen is not None
    return seen


@pytest.mark.req("12.13")
@pytest.mark.forbids
def test_without_a_link_several_memories_are_not_one() -> None:
    seen = found()

    assert seen.read_s is None
    assert "Summed memory of a rack is not one memory" in seen.refused


@pytest.mark.req("12.13")
def test_the_part_elsewhere_is_read_at_the_link_s_price() -> None:
    # 80 GB at 4000 GB/s: 0.02 s; 20 GB at 50 GB/s: 0.4 s, and 5 us of the link itself
    assert found(link_gb="50", link_us="5").read_s == pytest.approx(0.420005)


@pytest.mark.parametrize("link", [{"link_gb": "fast"}, {"link_us": "3"}, {"link_gb": "-1"}])
def test_a_link_that_is_none_is_refused_by_name(link: dict[str, str]) -> None:
    assert found(**link).refused.startswith("link")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {**ANSWER, "memory": {"device_bytes": 200 * GB, "known_bytes": GB}},
        {**ANSWER, "device": None},
    ],
)
def test_what_fits_or_has_no_device_says_nothing(answer: dict[str, Any] | None) -> None:
    assert spilled(answer, {}) is None
