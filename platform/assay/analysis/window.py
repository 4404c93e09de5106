"""The span of time over which rates are taken, and what arrived in it.

End-to-end throughput is taken over one window of one set of real requests: tokens that arrive in it, divided
by its length. Rates of pure prefill and pure decode are never added up to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.absence import Absent
from assay.analysis.columns import Instants, Mask, number, where
from assay.analysis.percentiles import Interval
from assay.analysis.quantities import NS_PER_S
from assay.analysis.wire.attempt import Attempt
from assay.analysis.wire.reply import Reply
from runners.protocol.events import ClientState


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """[from_ns, to_ns) of one clock domain, and how it was chosen.

    Where clocks of several domains stamped what it holds, it lies on the run's own, and its length may be off
    by ``error_ns``.
    """

    from_ns: int
    to_ns: int
    chosen: str
    error_ns: int = 0

    @property
    def length_s(self) -> float:
        return (self.to_ns - self.from_ns) / NS_PER_S

    def holds(self, t_ns: int | None) -> bool:
        return t_ns is not None and self.from_ns <= t_ns < self.to_ns


def across_clocks(window: Window | Absent, error_ns: int) -> Window | Absent:
    """The window of attempts that other clocks stamped too, each known to ``error_ns``: that at both edges.

    None is left where the bound is not smaller than the window.
    """
    if isinstance(window, Absent) or not error_ns:
        return window
    bound_ns = 2 * error_ns
    if bound_ns >= window.to_ns - window.from_ns:
        return Absent(f"several clock domains: their error bound, {bound_ns} ns, is no smaller")
    chosen = f"{window.chosen}; several clock domains, its length known to {bound_ns} ns"
    return replace(window, chosen=chosen, error_ns=bound_ns)


def rate_interval(value: float | Absent, window: Window) -> Interval | None:
    """What a rate may be, by what the length of its window may be; None within one clock domain."""
    if isinstance(value, Absent) or not window.error_ns:
        return None
    length_ns = window.to_ns - window.from_ns
    return Interval(
        low=value * length_ns / (length_ns + window.error_ns),
        high=value * length_ns / (length_ns - window.error_ns),
        kind="bounds of the clocks' offset",
    )


def whole_window(attempts: Sequence[Attempt]) -> Window | Absent:
    """From the first send to just after the last final fact or arrival of these attempts."""
    starts, was_sent = number(attempts, "sent_ns")
    ends = [
        int(times[known].max())
        for times, known in (
            number(attempts, name) for name in ("decided_ns", "done_ns", "reply.last_read_ns")
        )
        if known.any()
    ]
    if not was_sent.any() or not ends or max(ends) <= starts[was_sent].min():
        return Absent("no span between a first send and a last end")
    return Window(
        from_ns=int(starts[was_sent].min()), to_ns=max(ends) + 1, chosen="first send to last end"
    )


@dataclass(frozen=True, slots=True)
class Steps:
    """A step function: from each of these instants on (they rise) it has this level, before them 0."""

    times_ns: Instants
    levels: Instants

    def level_before(self, t_ns: int) -> int:
        place = int(np.searchsorted(self.times_ns, t_ns, side="left"))
        return int(self.levels[place - 1]) if place else 0

    def mean(self, window: Window) -> float:
        """Time-weighted over the window."""
        if not len(self.times_ns):
            return 0.0
        bounded = np.clip(np.append(self.times_ns, window.to_ns), window.from_ns, window.to_ns)
        return int(np.sum(self.levels * np.diff(bounded))) / (window.to_ns - window.from_ns)

    def pairs(self) -> list[tuple[int, int]]:
        """(time, level from then on)."""
        return list(zip(self.times_ns.tolist(), self.levels.tolist(), strict=True))


def in_flight(attempts: Sequence[Attempt]) -> Steps:
    """Attempts in flight: sent and not yet at their final fact."""
    starts, was_sent = number(attempts, "sent_ns")
    ends, has_ended = number(attempts, "decided_ns")
    both = was_sent & has_ended
    began, ended = starts[was_sent], np.maximum(starts[both], ends[both])
    times = np.concatenate([began, ended])
    changes = np.repeat([1, -1], [len(began), len(ended)])
    order = np.argsort(times, kind="stable")
    times, levels = times[order], np.cumsum(changes[order])
    last = np.flatnonzero(np.diff(times, append=times[-1:] + 1))  # of several at one instant
    return Steps(times[last], levels[last])


def in_flight_steps(attempts: Sequence[Attempt]) -> list[tuple[int, int]]:
    """(time, attempts in flight from then on)."""
    return in_flight(attempts).pairs()


def mean_in_flight(attempts: Sequence[Attempt], window: Window) -> float:
    """Time-weighted mean of attempts in flight over the window."""
    return in_flight(attempts).mean(window)


def tokens_arrived(attempts: Sequence[Attempt], window: Window) -> int | Absent:
    """Output tokens that arrived in the window, whatever became of their attempts."""
    tokens, counted = number(attempts, "reply.counted_tokens")
    whole, crosses = _content_in(attempts, window)
    total = int(tokens[whole & counted].sum())
    unknown = np.flatnonzero(whole & ~counted)
    for place in np.flatnonzero(crosses).tolist():
        if len(unknown) and unknown[0] < place:
            break
        found = _tokens_within(attempts[place].reply, window)
        if found is None:
            unknown = np.array([place])
            break
        total += found
    if len(unknown):
        name = attempts[int(unknown[0])].attempt_id
        return Absent(f"when the tokens of {name} arrived is unknown: chunks are no tokens")
    return total


def _content_in(attempts: Sequence[Attempt], window: Window) -> tuple[Mask, Mask]:
    """Which replies have all of their content in the window, and which others cross an edge of it."""
    first, has_content = number(attempts, "reply.first_content_ns")
    last, _ = number(attempts, "reply.last_content_ns")
    has_content = has_content & (number(attempts, "reply.content_events")[0] > 0)
    whole = has_content & (first >= window.from_ns) & (last < window.to_ns)
    touches = has_content & (first < window.to_ns) & (last >= window.from_ns)
    return whole, touches & ~whole


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
    done = completed_in(attempts, window)
    tokens, known = number(attempts, "prompt_tokens" if prompt else "output_tokens")
    unknown = np.flatnonzero(done & ~known)
    if len(unknown):
        name = attempts[int(unknown[0])].attempt_id
        return Absent(f"the token count of {name} is unknown")
    return int(tokens[done].sum())


def completed_in(attempts: Sequence[Attempt], window: Window) -> Mask:
    """Which attempts completed in the window."""
    decided, known = number(attempts, "decided_ns")
    inside = known & (window.from_ns <= decided) & (decided < window.to_ns)
    return inside & where(attempts, "state", lambda state: state is ClientState.completed)


def with_content(attempts: Sequence[Attempt], window: Window) -> int:
    """How many replies had a content event in the window."""
    whole, crosses = _content_in(attempts, window)
    places = np.flatnonzero(crosses).tolist()
    return int(whole.sum()) + sum(any_content(attempts[at].reply, window) for at in places)
