"""Lengths drawn from a declared distribution, one draw of ``random.Random(seed).random()`` each.

A normal or lognormal length is rounded and then clipped to [minimum, maximum], which piles up what lay beyond
at the two ends; the plan holds every request's own length, so nothing rests on the shape that was declared.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

from runners.load.schedule import Planned


def lengths(rule: Mapping[str, Any], *, seed: str) -> Iterator[int]:
    """One length after the other, without end."""
    draw = random.Random(seed).random
    while True:
        yield _length(rule, draw())


def _length(rule: Mapping[str, Any], u: float) -> int:
    """The length at quantile ``u`` of the distribution, 0 <= u < 1."""
    kind, low, high = rule["kind"], rule["minimum"], rule["maximum"]
    if kind == "listed":
        return int(rule["values"][int(u * len(rule["values"]))])
    if kind == "uniform":
        return int(low + int(u * (high - low + 1)))
    if u == 0.0:  # the normal quantile has no value there
        return int(low)
    z = NormalDist().inv_cdf(u)
    mean, deviation = float(rule["mean"]), float(rule["deviation"])
    exact = mean + deviation * z if kind == "normal" else mean * math.exp(deviation * z)
    return int(min(max(round(min(exact, high)), low), high))


def with_lengths(planned: Sequence[Planned], workload: Mapping[str, Any]) -> list[Planned]:
    """The requests with the lengths drawn for them, where the workload declares a distribution."""
    found = list(planned)
    for side in ("input", "output"):
        if (rule := workload[f"{side}_lengths"]) is not None:
            drawn = lengths(rule, seed=f"{side}-lengths/{workload['seed']}")
            found = [_with_length(request, side, next(drawn)) for request in found]
    return found


def _with_length(request: Planned, side: str, tokens: int) -> Planned:
    if side == "input":
        return replace(request, input_tokens=tokens)
    return replace(request, output_tokens=tokens)
