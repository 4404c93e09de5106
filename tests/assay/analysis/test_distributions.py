"""Quantiles of our own against the library's, over the sizes that intervals ask for."""

import math

import pytest
from scipy import special

from assay.analysis.distributions import NORMAL_975, binomial_quantile, student_quantile

_TAIL = (1 - 0.95) / 2


@pytest.mark.parametrize("q", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("share", [_TAIL, 1 - _TAIL])
def test_the_binomial_quantile_is_the_smallest_that_reaches_its_share(
    share: float, q: float
) -> None:
    for n in (*range(1, 300), 5_000, 99_999, 10_000_000):
        k = binomial_quantile(share, n, q)

        assert special.bdtr(k, n, q) >= share, n
        assert k == 0 or special.bdtr(k - 1, n, q) < share, n


def test_the_student_quantile_of_one_and_of_two_degrees_by_hand() -> None:
    # P(|T| <= t): 2 atan(t) / pi of one degree, t / sqrt(2 + t^2) of two.
    assert student_quantile(0.95, 1) == pytest.approx(math.tan(0.95 * math.pi / 2), rel=1e-12)
    assert student_quantile(0.95, 2) == pytest.approx(
        0.95 * math.sqrt(2 / (1 - 0.95**2)), rel=1e-12
    )


@pytest.mark.parametrize("freedom", [3, 4, 7, 8, 31, 100, 999, 10_000, 1_000_000])
def test_the_student_quantile_is_the_library_s(freedom: int) -> None:
    expected = special.stdtrit(freedom, 1 - _TAIL)

    assert student_quantile(0.95, freedom) == pytest.approx(expected, rel=1e-9)


def test_the_normal_quantile_is_the_library_s_to_the_last_bit() -> None:
    assert special.ndtri(1 - _TAIL) == NORMAL_975
