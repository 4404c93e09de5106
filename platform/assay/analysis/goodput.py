"""Goodput: requests completed within the service levels, over the requests offered.

An attempt that failed, was rejected or was cancelled is in the denominator.
"""

from collections.abc import Sequence

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.aggregates import Scope, aggregate
from assay.analysis.columns import Instants, Mask, number, where
from assay.analysis.documents import Aggregate
from assay.analysis.percentiles import share_interval
from assay.analysis.quantities import NS_PER_S
from assay.analysis.rates import ServiceLevels
from assay.analysis.tries import tries_of
from assay.analysis.window import Window, rate_interval
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState


def goodput(
    attempts: Sequence[Attempt],
    slo: ServiceLevels,
    *,
    offered: int,
    window: Window | None,
    scope: Scope,
) -> list[Aggregate]:
    """Requests completed within the service levels, over the requests offered, and per second."""
    good, unknown = held_service_levels(attempts, slo)
    share: float | Absent = good / offered if offered else Absent("nothing was offered")
    rate: float | Absent = Absent("no window")
    if unknown:
        share = rate = Absent(
            f"{unknown} of {offered} requests cannot be judged: counts are missing"
        )
    elif window is not None:
        rate = good / window.length_s
    named = Scope(
        population=f"offered requests, held: {slo.words()}",
        denominator="offered requests",
        perspective="client",
        clock_domain=scope.clock_domain,
        limited_by=scope.limited_by,
    )
    return [
        aggregate(
            "goodput.ratio",
            "ratio",
            "1",
            share,
            n=good,
            of=offered,
            scope=named,
            interval=share_interval(good, offered) if not unknown else None,
        ),
        aggregate(
            "goodput.rate",
            "rate",
            "request/s",
            rate,
            n=good,
            of=offered,
            scope=named,
            interval=rate_interval(rate, window) if window is not None else None,
        ),
    ]


def held_service_levels(attempts: Sequence[Attempt], slo: ServiceLevels) -> tuple[int, int]:
    """How many requests were completed within every limit, and of how many that is not known.

    Times count from the first try's send, so that a retry does not hide the wait before it. At most one
    output token leaves TPOT undefined, and there is nothing to hold.
    """
    if not len(attempts):
        return 0, 0
    tries = tries_of(attempts)
    completed = where(attempts, "state", lambda state: state is ClientState.completed)[tries.order]
    at = np.where(completed, np.arange(len(completed)), len(completed))
    done = np.minimum.reduceat(at, tries.first)  # each request's first try that completed
    is_done = done < len(completed)
    ends, begins = tries.order[done[is_done]], tries.order[tries.first[is_done]]

    sent, was_sent = (column[begins] for column in number(attempts, "sent_ns"))
    broken = unknown = np.zeros(len(ends), dtype=bool)
    for name, limit_s in (("reply.first_content_ns", slo.ttft_s), ("done_ns", slo.e2e_s)):
        if limit_s is not None:
            end, was_seen = (column[ends] for column in number(attempts, name))
            known = was_sent & was_seen
            broken = broken | (known & (end - sent > _ns(limit_s)))
            unknown = unknown | ~known
    if slo.tpot_s is not None:
        too_slow, not_known = _beyond_tpot(attempts, ends, slo.tpot_s)
        broken, unknown = broken | too_slow, unknown | not_known
    good = int(np.count_nonzero(~broken & ~unknown))
    return good, int(np.count_nonzero(unknown & ~broken))


def _beyond_tpot(
    attempts: Sequence[Attempt], places: Instants, limit_s: float
) -> tuple[Mask, Mask]:
    """Which of these took longer per token, and of which that is not known."""
    names = ("output_tokens", "reply.first_content_ns", "reply.last_content_ns")
    (tokens, counted), (first, began), (last, ended) = (number(attempts, n) for n in names)
    known = (counted & began & ended)[places]
    spans, intervals = (last - first)[places], tokens[places] - 1
    return known & (intervals > 0) & (spans > _ns(limit_s) * intervals), ~known


def _ns(limit_s: float) -> int:
    return round(limit_s * NS_PER_S)
