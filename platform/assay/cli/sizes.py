"""Sizes and ages as people write them on the command line."""

import argparse
import re
from datetime import timedelta

_SIZES = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_AGES = {"h": "hours", "d": "days", "w": "weeks"}


def bytes_of(text: str) -> int:
    """``50GB`` -> 50 000 000 000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(kB|MB|GB|TB|)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is no size (a number with kB, MB, GB or TB)")
    return int(float(found[1]) * _SIZES[found[2]])


def age_of(text: str) -> timedelta:
    """``90d`` -> ninety days."""
    found = re.fullmatch(r"(\d+)([hdw])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is no age (a number with h, d or w)")
    return timedelta(**{_AGES[found[2]]: int(found[1])})
