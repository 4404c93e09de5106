"""Whether an open loop offers more than is served: its backlog goes up, and not by chance.

The backlog is what came due and has not ended, whether or not it was sent. It is looked at from the moment
when as many requests have ended as were open at the first end: until then a healthy system fills up too.
"""

from collections import deque

from runners.protocol.trend import BLOCKS, upward


class Backlog:
    """Means of the backlog over ``BLOCKS`` blocks of the last ``span_s``."""

    def __init__(self, *, span_s: float, level: float, growth_share: float) -> None:
        self._span_s, self._level, self._share = span_s, level, growth_share
        self._block_ns = round(span_s * 1e9 / BLOCKS)
        self._blocks: deque[tuple[float, int]] = deque(
            maxlen=BLOCKS
        )  # mean backlog, due at its end
        self._open_at_first_end: int | None = None
        self._block_end_ns = 0
        self._due_at_start = 0
        self._sum = self._looks = 0

    def look(self, now_ns: int, *, due: int, ended: int) -> str | None:
        """Take one look; the sentence that says how it is overloaded as soon as that is evident."""
        if not self._is_full(due=due, ended=ended):
            return None
        if not self._block_end_ns:
            self._block_end_ns, self._due_at_start = now_ns + self._block_ns, due
        self._sum += due - ended
        self._looks += 1
        if now_ns < self._block_end_ns:
            return None
        if len(self._blocks) == BLOCKS:
            self._due_at_start = self._blocks[0][1]
        self._blocks.append((self._sum / self._looks, due))
        self._block_end_ns = now_ns + self._block_ns
        self._sum = self._looks = 0
        return self._judge(due) if len(self._blocks) == BLOCKS else None

    def _is_full(self, *, due: int, ended: int) -> bool:
        if self._open_at_first_end is None and ended:
            self._open_at_first_end = due - ended
        return self._open_at_first_end is not None and ended > self._open_at_first_end

    def _judge(self, due: int) -> str | None:
        came = due - self._due_at_start
        trend = upward([mean for mean, _ in self._blocks])
        if trend.p >= self._level or trend.rise < max(self._share * came, 2):
            return None
        return (
            f"the backlog rose by {trend.rise:.0f} in the last {self._span_s:g} s, in which {came} "
            f"requests came due (to {self._blocks[-1][0]:.0f}; Mann-Kendall, one-sided p = {trend.p:.2g})"
        )
