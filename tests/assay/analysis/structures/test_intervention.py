"""Slow outside the model is said only after the same runs with another delay."""

import pytest

from assay.analysis.errors import ClaimRefused
from assay.analysis.structures.intervention import DelayedRuns, OutsideVerdict, slow_outside

SLOW = DelayedRuns(delay_s=1.0, wall_s=[3.0, 3.2])


@pytest.mark.req("2.11")
@pytest.mark.parametrize("repeat", [None, SLOW, DelayedRuns(delay_s=0.0, wall_s=[])])
def test_without_a_changed_repeat_the_claim_is_refused(repeat: DelayedRuns | None) -> None:
    with pytest.raises(ClaimRefused, match="slow outside the model"):
        slow_outside(SLOW, repeat, tolerance_s=0.1)


@pytest.mark.req("2.11")
@pytest.mark.parametrize(
    ("stubbed", "verdict", "seen_s"),
    [
        # Means 3.1 and 2.15 s: 0.95 s less for a delay that is 1.0 s less, within 0.1 s.
        ([2.1, 2.2], OutsideVerdict.accepted, 0.95),
        # Means 3.1 and 2.8 s: only 0.3 s less, so something else ran meanwhile.
        ([2.8, 2.8], OutsideVerdict.mismatch, 0.3),
        # 3.1 to 1.1 s is 2.0 s less: more than the dependency took, so its segment is defined wrongly.
        ([1.1, 1.1], OutsideVerdict.mismatch, 2.0),
    ],
)
def test_the_wall_time_must_move_by_the_delay(
    stubbed: list[float], verdict: OutsideVerdict, seen_s: float
) -> None:
    claim = slow_outside(SLOW, DelayedRuns(delay_s=0.0, wall_s=stubbed), tolerance_s=0.1)

    assert claim.verdict is verdict
    assert claim.expected_s == 1.0
    assert claim.seen_s == pytest.approx(seen_s)
    assert ("overlap" in claim.why) == (verdict is OutsideVerdict.mismatch)
