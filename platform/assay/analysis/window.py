"""The span of time over which rates are taken, and what arrived in it.

End-to-end throughput is taken over one window of one set of real requests: tokens that arrive in it, divided
by its length. Rates of pure prefill and pure decode are never added up to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.quantities import NS_PER_S
from assay.analysis.wire.attempt import Attempt
from assay.analysis.wire.reply import Reply
from runners.protocol.events import ClientState


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """[from_ns, to_ns) of one clock domain, and how it was chosen."""

    from_ns: int
    to_ns: int
    chosen: str

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / NS_PER_S

    def holds(self, t_ns: int | None) -> bool:
        return t_ns is not None and self.from_ns <= t_ns < self.to_ns


def whole_window(attempts: Sequence[Attempt]) -> Window | Absent:
    """From the first send to just after the last final fact or arrival of these attempts."""
    starts = [a.sent_ns for a in attempts if a.sent_ns is not None]
    ends = [
        t
        for a in attempts
        for t in (a.decided_ns, a.done_ns, a.reply.last_read_ns)
        if t is not None
    ]
    if not starts or not ends or max(ends) <= min(starts):
        return Absent("no span between a first send and a last end")
    return Window(from_ns=min(starts), to_ns=max(ends) + 1, chosen="first send to last end")


def in_flight_steps(attempts: Sequence[Attempt]) -> list[tuple[int, int]]:
    """(time, attempts in flight from then on): sent and not yet at their final fact."""
    starts, ends = [], []
    for attempt in attempts:
        start, end = attempt.sent_ns, attempt.decided_ns
        if start is not None:
            starts.append(start)
            if end is not None:
                ends.append(max(end, start))
    times = np.array(starts + ends, dtype=np.int64)
    changes = np.repeat([1, -1], [len(starts), len(ends)])
    order = np.argsort(times, kind="stable")
    times, levels = times[order], np.cumsum(changes[order])
    last = np.flatnonzero(np.diff(times, append=times[-1:] + 1))  # of several at one instant
    return list(zip(times[last].tolist(), levels[last].tolist(), strict=True))


def mean_in_flight(attempts: Sequence[Attempt], window: Window) -> float:
    """Time-weighted mean of attempts in flight over the window."""
    return mean_level(in_flight_steps(attempts), window)


def mean_level(steps: Sequence[tuple[int, int]], window: Window) -> float:
    """Time-weighted mean of a step function over the window."""
    if not steps:
        return 0.0
    times, levels = np.array(steps, dtype=np.int64).T
    bounded = np.clip(np.append(times, window.to_ns), window.from_ns, window.to_ns)
    return int(np.sum(levels * np.diff(bounded))) / (window.to_ns - window.from_ns)


def tokens_arrived(attempts: Sequence[Attempt], window: Window) -> int | Absent:
    """Output tokens that arrived in the window, whatever became of their attempts."""
    total = 0
    for attempt in attempts:
        tokens = _tokens_within(attempt.reply, window)
        if tokens is None:
            return Absent(
                f"when the tokens of {attempt.attempt_id} arrived is unknown: chunks are no tokens"
            )
        total += tokens
    return total


def _tokens_within(reply: Reply, window: Window) -> int | None:
    """Tokens of the content events in the window; None if those of one are not known."""
    if _ends_within(reply, window) == 2:
        return reply.counted_tokens
    if not any_content(reply, window):
        return 0
    own = [
        tokens
        for t_ns, tokens in zip(reply.chunk_times_ns, reply.chunk_tokens, strict=True)
        if window.holds(t_ns)
    ]
    return None if None in own else sum(tokens for tokens in own if tokens is not None)


def any_content(reply: Reply, window: Window) -> bool:
    """Whether a content event came in the window."""
    if not reply.content_events:
        return False
    if _ends_within(reply, window):
        return True
    first, last = reply.first_content_ns, reply.last_content_ns
    if first is None or last is None or first >= window.to_ns or last < window.from_ns:
        return False
    return any(window.holds(t_ns) for t_ns in reply.chunk_times_ns)


def _ends_within(reply: Reply, window: Window) -> int:
    """How many of the first and the last content event lie in the window; arrivals never go back."""
    if not reply.content_events:
        return 0
    return window.holds(reply.first_content_ns) + window.holds(reply.last_content_ns)


def tokens_of_completed(
    attempts: Sequence[Attempt], window: Window, *, prompt: bool
) -> int | Absent:
    """Prompt or output tokens, as the server counted them, of the attempts that completed in the window."""
    total = 0
    for attempt in attempts:
        if attempt.state is not ClientState.completed or not window.holds(attempt.decided_ns):
            continue
        tokens = attempt.prompt_tokens if prompt else attempt.output_tokens
        if tokens is None:
            return Absent(f"the token count of {attempt.attempt_id} is unknown")
        total += tokens
    return total
