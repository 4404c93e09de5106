"""How far client stamps lie from the stamps of the server that wrote the bytes, on one clock.

arrival error = client arrival - server stamp, per event; TTFT error = (first arrival - sent) - (first stamp -
accepted); gap error = |gap of arrivals - gap of stamps| between neighbouring events. Nanoseconds.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from runners.load.lags import LagSeries

_STAMPS = re.compile(rb'"accepted":(\d+),"t":(\d+)}')


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientErrors:
    """Series over every event of every stream that arrived whole."""

    arrival: LagSeries = field(default_factory=lambda: LagSeries("client arrival minus stamp"))
    ttft: LagSeries = field(
        default_factory=lambda: LagSeries(
            "TTFT seen minus TTFT served, the mock's wait to read the request included"
        )
    )
    gap: LagSeries = field(default_factory=lambda: LagSeries("|gap seen minus gap served|"))


def compare(
    reads: Mapping[str, Sequence[tuple[int, bytes]]],
    sent_ns: Mapping[str, int],
) -> ClientErrors:
    """``reads`` are (arrival ns, bytes) of each attempt in order, ``sent_ns`` when its request had left."""
    errors = ClientErrors()
    for attempt, own in reads.items():
        found = _events(own)
        for arrived, _, stamped in found:
            errors.arrival.add(arrived - stamped)
        for (before, _, stamped_before), (after, _, stamped) in pairwise(found):
            errors.gap.add(abs((after - before) - (stamped - stamped_before)))
        if found and attempt in sent_ns:
            arrived, accepted, stamped = found[0]
            errors.ttft.add((arrived - sent_ns[attempt]) - (stamped - accepted))
    return errors


def _events(reads: Sequence[tuple[int, bytes]]) -> list[tuple[int, int, int]]:
    """(arrival of the read that completed it, accepted, stamp) of each event."""
    ends = list(accumulate(len(data) for _, data in reads))
    return [
        (reads[bisect_left(ends, match.end())][0], int(match[1]), int(match[2]))
        for match in _STAMPS.finditer(b"".join(data for _, data in reads))
    ]
