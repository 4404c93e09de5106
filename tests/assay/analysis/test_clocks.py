"""Two clocks are two worlds."""

import pytest

from assay.analysis.absence import Absent
from assay.analysis.clocks import (
    SPLIT_NEEDS,
    BoundaryResidual,
    Difference,
    Instant,
    difference,
    elapsed_ns,
    one_way_delay,
    split_residual,
)
from assay.analysis.errors import ClaimRefused


def instant(t_ns: int, domain: str = "a", error_ns: int | None = None) -> Instant:
    return Instant(t_ns=t_ns, clock_domain=domain, error_ns=error_ns)


@pytest.mark.req("3.07")
def test_two_processes_of_one_clock_domain_are_subtracted_exactly() -> None:
    found = difference(instant(100), instant(350))

    assert isinstance(found, Difference)
    assert (found.low_ns, found.high_ns, found.point_ns) == (250, 250, 250)


@pytest.mark.req("3.01")
def test_end_to_end_across_domains_is_refused() -> None:
    assert elapsed_ns(instant(100), instant(350)) == 250

    with pytest.raises(ClaimRefused, match="two instants of one clock domain"):
        elapsed_ns(instant(100), instant(350, "b", 0))


@pytest.mark.req("3.10", "3.12")
@pytest.mark.forbids
def test_a_one_way_delay_without_calibration_is_refused_and_what_remains_is_named() -> None:
    with pytest.raises(ClaimRefused, match="same-end round-trip time"):
        one_way_delay(instant(100, error_ns=0), instant(350, "b"))


def test_a_calibrated_one_way_delay_is_an_interval() -> None:
    found = one_way_delay(instant(100, error_ns=10), instant(350, "b", 20))

    # 250 plus or minus 10 + 20.
    assert (found.low_ns, found.high_ns, found.point_ns) == (220, 280, 250)


@pytest.mark.req("3.08")
@pytest.mark.forbids
def test_a_clock_origin_changes_no_difference() -> None:
    near, far = difference(instant(1), instant(5)), difference(instant(10**18), instant(10**18 + 4))

    assert near == far


@pytest.mark.req("3.15", "3.18")
@pytest.mark.forbids
@pytest.mark.parametrize("missing", SPLIT_NEEDS)
def test_a_residual_stays_unsplit_while_one_need_is_missing(missing: str) -> None:
    residual = BoundaryResidual(outer_ns=668, inner_ns=613)
    before = difference(instant(0, error_ns=0), instant(21, "b", 1))

    split = split_residual(residual, before, [n for n in SPLIT_NEEDS if n != missing])

    assert isinstance(split, Absent)
    assert missing in split.reason


def test_a_split_keeps_the_error_on_both_parts() -> None:
    residual = BoundaryResidual(outer_ns=668, inner_ns=613)
    before = difference(instant(0, error_ns=2), instant(21, "b", 3))

    split = split_residual(residual, before, SPLIT_NEEDS)

    assert not isinstance(split, Absent)
    first, second = split
    assert (first.low_ns, first.high_ns) == (16, 26)
    assert (second.low_ns, second.high_ns) == (55 - 26, 55 - 16)


def test_without_a_mapping_a_residual_is_not_split() -> None:
    residual = BoundaryResidual(outer_ns=668, inner_ns=613)

    split = split_residual(residual, difference(instant(0), instant(21, "b")), SPLIT_NEEDS)

    assert isinstance(split, Absent)
