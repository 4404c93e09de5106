"""Who sends next, and when: rows of a plan segment as an open loop's schedule or a closed loop's slots."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.load.requests import PreparedRequest
from runners.protocol.errors import Finding, Refused
from runners.protocol.events import Segment

_CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLoop:
    """Requests in order of their offset from the start of the segment."""

    requests: tuple[PreparedRequest, ...]
    offsets_ns: tuple[int, ...]


class ClosedLoop:
    """Slots that each send one request at a time; a slot takes its own rows first, then unassigned ones."""

    def __init__(self, requests: Iterable[PreparedRequest], *, slots: int, think_s: float) -> None:
        self.think_ns = round(think_s * 1e9)
        self._own: dict[int, deque[PreparedRequest]] = {}
        self._shared: deque[PreparedRequest] = deque()
        for request in requests:
            slot = request.row["slot"]
            queue = self._shared if slot is None else self._own.setdefault(slot, deque())
            queue.append(request)
        named = sorted(self._own)
        free = (n for n in range(slots + len(named)) if n not in self._own)
        self.slots = named + [next(free) for _ in range(max(0, slots - len(named)))]

    def take(self, slot: int) -> PreparedRequest | None:
        own = self._own.get(slot)
        if own:
            return own.popleft()
        return self._shared.popleft() if self._shared else None


def pace(requests: Sequence[PreparedRequest], load: Mapping[str, Any]) -> OpenLoop | ClosedLoop:
    """The plan decides: rows with offsets are an open loop, rows without a closed one.

    Only the ``load`` segment knows concurrency and think time; warm-up, cases and profile go one at a time
    unless their rows name slots. Refuses a mixture, and a load segment unlike ``load.kind``.
    """
    ordered = sorted(requests, key=lambda r: r.row["sequence"])
    timed = [r for r in ordered if r.row["offset_ns"] is not None]
    is_load = any(r.row["segment"] == Segment.load for r in ordered)
    if timed and len(timed) != len(ordered):
        raise _refused("plan.offset_ns", "null in some rows", "an offset in every row or in none")
    if is_load and bool(timed) == (load["kind"] == _CLOSED):
        seen = "rows with offsets" if timed else "rows without offsets"
        raise _refused("plan.offset_ns", f"{seen}, load.kind {load['kind']}", "a plan of this load")
    if timed:
        in_time = sorted(timed, key=lambda r: (r.row["offset_ns"], r.row["sequence"]))
        if in_time[0].row["offset_ns"] < 0:
            raise _refused("plan.offset_ns", in_time[0].row["offset_ns"], "0 or more")
        return OpenLoop(
            requests=tuple(in_time), offsets_ns=tuple(r.row["offset_ns"] for r in in_time)
        )
    unassigned = any(r.row["slot"] is None for r in ordered)
    return ClosedLoop(
        ordered,
        slots=(load["concurrency"] if is_load else 1) if unassigned else 0,
        think_s=load["think_time_s"] if is_load else 0.0,
    )


def _refused(field: str, seen: object, allowed: str) -> Refused:
    return Refused(
        Finding(field=field, seen=str(seen), allowed=allowed, remedy="Materialise the plan again.")
    )
