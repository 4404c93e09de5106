"""Requests that hang together: a session, a task with its branches, a call with its continuation.

Which of those that wait may go when one has ended, and which never will: one whose predecessors failed is
never created, and says why.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from runners.load.assembly import Heard, hear
from runners.load.attempt import Attempt
from runners.load.requests import PreparedRequest
from runners.protocol.events import WireKind


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a request ended, with its last try; ``heard`` is its reply where somebody needs it."""

    is_completed: bool
    ended_ns: int
    heard: Heard | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """``ready`` may go now; ``lost`` says of each that never will why."""

    ready: tuple[PreparedRequest, ...]
    lost: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Group:
    waiting: dict[str, PreparedRequest] = field(default_factory=dict)
    ends: dict[str, End] = field(default_factory=dict)
    open: int = 0

    @property
    def is_over(self) -> bool:
        return not self.open and not self.waiting

    def settle(self) -> Settled:
        """Release or give up what waits, until nothing changes: what is given up has ended, too."""
        ready: list[PreparedRequest] = []
        lost: list[str] = []
        while (found := next(self._decided(), None)) is not None:
            request, verdict = found
            del self.waiting[request.request_id]
            if verdict is None:
                ready.append(request)
                continue
            lost.append(verdict)
            ended_ns = max(end.ended_ns for end in self.ends.values())
            self.ends[request.request_id] = End(is_completed=False, ended_ns=ended_ns, heard=None)
        return Settled(ready=tuple(ready), lost=tuple(lost))

    def _decided(self) -> Iterator[tuple[PreparedRequest, str | None]]:
        for request in self.waiting.values():
            row = request.row
            after = row["after"]
            ends = [self.ends[name] for name in after if name in self.ends]
            completed = sum(end.is_completed for end in ends)
            least = row.get("after_least") or len(after)
            enough = completed >= (row.get("after_completed") or len(after))
            if enough or (len(ends) == len(after) and completed >= least):
                yield request, None
            elif completed + len(after) - len(ends) < least:
                yield request, f"{row['step']}: {completed} of {least} requests before it completed"


def end_of(attempt: Attempt) -> End:
    status = attempt.status or 0
    is_completed = attempt.end == WireKind.closed and 200 <= status < 300
    heard = None
    if attempt.kept is not None:
        heard = hear(attempt.kept.reply(), attempt.request.on_reply)
        is_completed = is_completed and heard.reply.error is None and heard.call_source != "none"
        attempt.kept = None
    ended_ns = attempt.ended_ns if attempt.ended_ns is not None else time.monotonic_ns()
    return End(is_completed=is_completed, ended_ns=ended_ns, heard=heard)
