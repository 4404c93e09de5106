"""Attempts of a simulated queue: arrivals, servers and service times, all from a seed."""

import heapq
import random

from assay.analysis.wire.attempt import Attempt, AttemptIds
from runners.protocol.events import ClientState

S = 1_000_000_000


def attempt(number: int, start_s: float, end_s: float | None, *, scheduled: bool = True) -> Attempt:
    """One attempt that was in flight from its scheduled time (or send) to its end."""
    made = Attempt(ids=AttemptIds(attempt_id=f"a{number}"), clock_domain="c")
    made.sent_ns = round(start_s * S)
    made.scheduled_ns = made.sent_ns if scheduled else None
    if end_s is not None:
        made.decided_ns = round(end_s * S)
        made.state = ClientState.completed
    return made


def open_queue(*, seed: int, arrivals: int, load: float, servers: int) -> list[Attempt]:
    """Poisson arrivals at ``load`` times what ``servers`` can serve, exponential service of mean 1 s."""
    draw = random.Random(seed)
    free = [0.0] * servers
    at_s, made = 0.0, []
    for number in range(arrivals):
        at_s += draw.expovariate(load * servers)
        end_s = max(at_s, heapq.heappop(free)) + draw.expovariate(1.0)
        heapq.heappush(free, end_s)
        made.append(attempt(number, at_s, end_s))
    return made


def closed_loop(
    *, seed: int, slots: int, each: int, think_s: float = 0.0, start_s: float = 0.0
) -> list[Attempt]:
    """Slots that send, wait an exponential time of mean 1 s, think, and send again."""
    draw = random.Random(seed)
    made = []
    for slot in range(slots):
        at_s = start_s
        for number in range(each):
            end_s = at_s + draw.expovariate(1.0)
            made.append(attempt(slot * each + number, at_s, end_s, scheduled=False))
            at_s = end_s + think_s
    return made
