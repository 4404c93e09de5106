"""The span of time over which rates are taken, and what arrived in it.

End-to-end throughput is taken over one window of one set of real requests: tokens that arrive in it, divided
by its length. Rates of pure prefill and pure decode are never added up to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis.absence import Absent
from assay.analysis.quantities import NS_PER_S
from assay.analysis.wire.attempt import Attempt
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
    changes: list[tuple[int, int]] = []
    for attempt in attempts:
        if attempt.sent_ns is not None:
            changes.append((attempt.sent_ns, 1))
            if attempt.decided_ns is not None:
                changes.append((max(attempt.decided_ns, attempt.sent_ns), -1))
    changes.sort()
    steps: list[tuple[int, int]] = []
    level = 0
    for t_ns, change in changes:
        level += change
        if steps and steps[-1][0] == t_ns:
            steps[-1] = (t_ns, level)
        else:
            steps.append((t_ns, level))
    return steps


def mean_in_flight(attempts: Sequence[Attempt], window: Window) -> float:
    """Time-weighted mean of attempts in flight over the window."""
    steps = in_flight_steps(attempts)
    area = 0
    ends = [t for t, _ in steps[1:]] + [window.to_ns]
    for (start, level), end in zip(steps, ends, strict=True):
        span = min(end, window.to_ns) - max(start, window.from_ns)
        area += level * max(0, span)
    return area / (window.to_ns - window.from_ns)


def tokens_arrived(attempts: Sequence[Attempt], window: Window) -> int | Absent:
    """Output tokens that arrived in the window, whatever became of their attempts."""
    total = 0
    for attempt in attempts:
        reply = attempt.reply
        for t_ns, tokens in zip(reply.chunk_times_ns, reply.chunk_tokens, strict=True):
            if not window.holds(t_ns):
                continue
            if tokens is None:
                return Absent(
                    f"when the tokens of {attempt.attempt_id} arrived is unknown: chunks are no tokens"
                )
            total += tokens
    return total


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
