"""A share with its uncertainty."""

from math import sqrt

_Z95 = 1.96


def wilson(successes: int, n: int) -> tuple[float, float]:
    """95% Wilson score interval of a share; 0 <= low <= high <= 1."""
    share = successes / n
    middle = share + _Z95**2 / (2 * n)
    half = _Z95 * sqrt(share * (1 - share) / n + _Z95**2 / (4 * n**2))
    scale = 1 + _Z95**2 / n
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)
