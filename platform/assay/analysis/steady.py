"""Where a load was steady, found from what was in flight: the spans over which rates are taken.

A closed loop is steady while it holds its concurrency. An open loop is steady only if its backlog has no
trend: where more is offered than served, every figure depends on how long one looks.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import fsum
from statistics import median

from assay.analysis.absence import Absent
from assay.analysis.window import Window, in_flight_steps
from assay.analysis.wire.attempt import Attempt
from runners.protocol.trend import BLOCKS, upward

STEADY_SHARE = 0.95
FEWEST_ARRIVALS = 100
FEWEST_TURNOVERS, FEWEST_TO_OVERLOAD = 4, 2  # arrivals, in units of what an empty system would hold
TREND_LEVEL = 0.01
GROWTH_SHARE = 0.05
SHORT_GROWTH_SHARE = 1 / 3
LEAST_GROWTH = 2.0
OVERLOADED = "no steady state: offered rate above capacity"
_SHORT = "too short to tell whether the load was steady"
_START_BLOCKS = 2 * BLOCKS

Steps = Sequence[tuple[int, int]]


def closed_loop_window(
    attempts: Sequence[Attempt],
    concurrency: int,
    *,
    thinks: bool = False,
    within: tuple[int, int] | None = None,
) -> Window | Absent:
    """From the first to the last instant at which at least 95 % of the declared concurrency was in flight.

    With think time it is the slots in use that count: in flight, or thinking with a request still to come.
    ``within`` bounds the search to a stage.
    """
    steps = slots_in_use(attempts, concurrency) if thinks else in_flight_steps(attempts)
    turns: list[int] = []  # instants at which "enough" began, ended, began, ...
    for t_ns, level in _bounded(steps, within):
        if (level >= STEADY_SHARE * concurrency) == (len(turns) % 2 == 0):
            turns.append(t_ns)
    what = "slots in use" if thinks else "in flight"
    if len(turns) < 2:
        return Absent(f"{what} never held {STEADY_SHARE:.0%} of the declared {concurrency}")
    return Window(
        from_ns=turns[0],
        to_ns=turns[len(turns) // 2 * 2 - 1],
        chosen=f"{what} at or above {STEADY_SHARE:.0%} of {concurrency}",
    )


def slots_in_use(attempts: Sequence[Attempt], concurrency: int) -> list[tuple[int, int]]:
    """(time, slots from then on) that have sent and will send again, or are in flight.

    A slot that thinks has a request to come: slots in use are those in flight plus the sends still ahead, and
    never more than have begun. No slot is named for that.
    """
    sends = sorted(a.sent_ns for a in attempts if a.sent_ns is not None)
    return [
        (
            t_ns,
            min(
                min(concurrency, done := bisect_right(sends, t_ns)),
                in_flight + len(sends) - done,
            ),
        )
        for t_ns, in_flight in in_flight_steps(attempts)
    ]


def open_loop_window(
    attempts: Sequence[Attempt], *, within: tuple[int, int] | None = None
) -> Window | Absent:
    """From the end of the filling to the last scheduled arrival, if the backlog has no trend there.

    The backlog is what was scheduled and has not ended. Its filling is cut by MSER (White 1997): of all
    starts in the first half, the one after which the mean of the block means is known best. A trend is
    Mann-Kendall's test, one-sided at 1 %, on 20 block means, and a rise (Theil, Sen) of at least 5 % of the
    arrivals and 2 requests: an offered rate less than about 5 % above capacity is not told from chance.

    A short run (fewer than 100 arrivals, or less than four times what an empty system would hold) wanders
    more than that: there only a rise of a third of the arrivals is overload, and below two times what is held
    none is. Otherwise nothing is claimed: its window stands, and says so.
    """
    ours = [
        a
        for a in attempts
        if a.scheduled_ns is not None
        and (within is None or within[0] <= a.scheduled_ns < within[1])
    ]
    scheduled = sorted(a.scheduled_ns for a in ours if a.scheduled_ns is not None)
    if len(scheduled) < 2 or scheduled[-1] == scheduled[0]:
        return Absent("fewer than two scheduled arrivals")
    first, last = scheduled[0], scheduled[-1]
    steps = backlog_steps(attempts)
    filling = filling_blocks(block_means(steps, first, last, blocks=_START_BLOCKS))
    start = first + (last - first) * filling // _START_BLOCKS
    arrivals = sum(t >= start for t in scheduled)
    held = _held_when_empty(ours)
    is_short = arrivals < max(FEWEST_ARRIVALS, FEWEST_TURNOVERS * held)
    share = SHORT_GROWTH_SHARE if is_short else GROWTH_SHARE
    trend = upward(block_means(steps, start, last, blocks=BLOCKS))
    grows = trend.p < TREND_LEVEL and trend.rise >= max(share * arrivals, LEAST_GROWTH)
    if grows and arrivals >= FEWEST_TO_OVERLOAD * held:
        return Absent(
            f"{OVERLOADED} (the backlog rose by {trend.rise:.1f} over {arrivals} arrivals; "
            f"Mann-Kendall, one-sided p = {trend.p:.1g})"
        )
    if is_short:
        return Window(
            from_ns=first, to_ns=last, chosen=f"first to last scheduled arrival; {_SHORT}"
        )
    return Window(
        from_ns=start,
        to_ns=last,
        chosen="end of filling to last scheduled arrival, without a trend of the backlog",
    )


def _held_when_empty(attempts: Sequence[Attempt]) -> float:
    """Rate times the median time of the first tenth of the requests: what would be held without a queue."""
    ordered = sorted(attempts, key=lambda a: a.scheduled_ns or 0)
    span_ns = (ordered[-1].scheduled_ns or 0) - (ordered[0].scheduled_ns or 0)
    times = [
        a.decided_ns - a.scheduled_ns
        for a in ordered[: max(len(ordered) // 10, 5)]
        if a.decided_ns is not None and a.scheduled_ns is not None
    ]
    return median(times) * (len(ordered) - 1) / span_ns if times else 0.0


def backlog_steps(attempts: Sequence[Attempt]) -> list[tuple[int, int]]:
    """(time, requests from then on) that were scheduled, or sent again, and have not ended."""
    changes: list[tuple[int, int]] = []
    for attempt in attempts:
        start = attempt.scheduled_ns if attempt.scheduled_ns is not None else attempt.sent_ns
        if start is not None:
            changes.append((start, 1))
            if attempt.decided_ns is not None:
                changes.append((max(attempt.decided_ns, start), -1))
    changes.sort()
    levels = accumulate(change for _, change in changes)
    return [(t_ns, level) for (t_ns, _), level in zip(changes, levels, strict=True)]


def block_means(steps: Steps, from_ns: int, to_ns: int, *, blocks: int) -> list[float]:
    """Time-weighted means of a step function over equal blocks of [from_ns, to_ns)."""
    times = [t_ns for t_ns, _ in steps]
    areas = [
        0,
        *accumulate((b - a) * level for (a, level), b in zip(steps, times[1:], strict=False)),
    ]

    def area_to(t_ns: int) -> int:
        place = bisect_right(times, t_ns) - 1
        return areas[place] + (t_ns - times[place]) * steps[place][1] if place >= 0 else 0

    edges = [from_ns + (to_ns - from_ns) * n // blocks for n in range(blocks + 1)]
    return [(area_to(b) - area_to(a)) / max(b - a, 1) for a, b in pairwise(edges)]


def filling_blocks(means: Sequence[float]) -> int:
    """How many blocks to leave out: the least of sum (x - mean)^2 / n^2 over the rest, first half only."""
    best, least = 0, float("inf")
    for start in range(len(means) // 2 + 1):
        rest = means[start:]
        mean = fsum(rest) / len(rest)
        error = fsum((x - mean) ** 2 for x in rest) / len(rest) ** 2
        if error < least:
            best, least = start, error
    return best


def _bounded(steps: Steps, within: tuple[int, int] | None) -> list[tuple[int, int]]:
    """The steps inside a span, its edges among them; nothing is held outside."""
    if within is None:
        return list(steps)
    from_ns, to_ns = within
    level = 0
    inside: list[tuple[int, int]] = []
    for t_ns, after in steps:
        if t_ns <= from_ns:
            level = after
        elif t_ns < to_ns:
            inside.append((t_ns, after))
    return [(from_ns, level), *inside, (to_ns, 0)]
