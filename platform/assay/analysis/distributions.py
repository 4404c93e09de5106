"""Quantiles of the two distributions that intervals are made of: binomial, and Student's t.

Both have finite sums for what is asked here, so that no library has to be loaded for them: ``scipy.special``
takes half a second of every reading. The tests hold them against it.
"""

import math
from functools import lru_cache

import numpy as np

NORMAL_975 = 1.959963984540054  # of the standard normal distribution: 97.5 % lie below
_FAR = (
    12  # standard deviations from the mode beyond which a binomial has less than 1e-30 of its mass
)
_NEVER_NEARER = 64  # and never fewer places than this: a small one is not normal
_MOST_STEPS = 50


@lru_cache(maxsize=256)
def binomial_quantile(share: float, n: int, q: float) -> int:
    """The smallest k with P(B <= k) >= ``share``, B ~ Binomial(n, q), 0 < q < 1.

    The mass of each k follows from that of its neighbour; all of them are divided by their sum, so that no
    factorial of a large number is needed.
    """
    mode = min(n, int((n + 1) * q))
    far = math.ceil(_FAR * math.sqrt(n * q * (1 - q))) + _NEVER_NEARER
    low, high = max(0, mode - far), min(n, mode + far)
    odds = q / (1 - q)
    above = np.arange(mode, high, dtype=np.float64)  # each beside the next one up
    below = np.arange(mode, low, -1, dtype=np.float64)  # each beside the next one down
    up = np.cumprod((n - above) / (above + 1) * odds)
    down = np.cumprod(below / (n - below + 1) / odds)
    mass = np.concatenate([down[::-1], [1.0], up])
    reached = np.cumsum(mass) / mass.sum()
    return low + int(np.searchsorted(reached, share, side="left"))


@lru_cache(maxsize=256)
def student_quantile(within: float, freedom: int) -> float:
    """The t with P(\\|T\\| <= t) = ``within``, T of Student's distribution of so many degrees of freedom.

    Newton's steps on the finite sums for a whole number of degrees. Source: M. Abramowitz, I. A. Stegun,
    Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    t = 1.0
    for _ in range(_MOST_STEPS):
        step = (_student_within(t, freedom) - within) / (2 * _student_density(t, freedom))
        t = max(t - step, t / 2)
        if abs(step) <= 1e-14 * t:
            break
    return t


def _student_within(t: float, freedom: int) -> float:
    """P(|T| <= t)."""
    angle = math.atan(t / math.sqrt(freedom))
    square = math.cos(angle) ** 2
    if freedom == 1:
        return 2 * angle / math.pi
    is_odd = freedom % 2
    # Factors from one term of the sum to the next: cos^2 times 1/2, 3/4, 5/6 ... or 2/3, 4/5, 6/7 ...
    last = np.arange(2 + is_odd, freedom - 1, 2, dtype=np.float64)
    total = 1.0 + float(np.cumprod((last - 1) / last * square).sum())
    if is_odd:
        return 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * total)
    return math.sin(angle) * total


def _student_density(t: float, freedom: int) -> float:
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    log -= math.log(freedom * math.pi) / 2 + (freedom + 1) / 2 * math.log1p(t * t / freedom)
    return math.exp(log)
