"""When the newest start gives reason to look closer: each bound from both sides, in both directions."""

import pytest

from assay.analysis.regression.baseline import Baseline
from assay.analysis.regression.suspicion import Ground, suspicion

BASELINE = Baseline(level=100.0, scale=2.0, starts=12)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_start_beyond_two_scales_is_suspect(sign: int) -> None:
    found = suspicion(BASELINE, [100 + sign * 4.1])

    assert found is not None
    assert found.ground is Ground.start
    assert found.beyond == pytest.approx(sign * 2.05)
    assert found.change == pytest.approx(sign * 0.041)


def test_a_start_within_two_scales_is_not() -> None:
    assert suspicion(BASELINE, [104.0]) is None
    assert suspicion(BASELINE, [96.0]) is None


def test_only_the_newest_start_is_looked_at_alone() -> None:
    assert suspicion(BASELINE, [110.0, 91.0, 101.0]) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_starts_that_lie_on_one_side_together_are_suspect(sign: int) -> None:
    # error of the mean of three: 2 * sqrt(1/3 + 1/12) = 1.291; 3.3 off is 2.556 of it, 3.2 is 2.479
    assert suspicion(BASELINE, [100 + sign * 3.2] * 3) is None
    found = suspicion(BASELINE, [100 + sign * 3.3] * 3)

    assert found is not None
    assert found.ground is Ground.mean
    assert found.beyond == pytest.approx(sign * 3.3 / (2 * (1 / 3 + 1 / 12) ** 0.5))
