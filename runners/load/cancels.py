"""Which requests of the load their client gives up on purpose: a seeded share, by one declared rule."""

import random
from collections.abc import Iterator, Mapping
from typing import Any


def cancels(workload: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | None]:
    """For one request of the load after the other: the rule by which it is cancelled, or None.

    Each request is drawn on its own with ``cancel_share``, so that the same declaration cancels the same
    requests, and a higher share cancels those and more.
    """
    rule, share = workload["cancel"], workload["cancel_share"]
    draw = random.Random(f"cancel/{workload['seed']}").random
    while True:
        yield rule if draw() < share else None
