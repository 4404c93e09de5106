"""Who sends next, and when: rows of a plan segment as an open loop's schedule or a closed loop's slots."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.load.requests import PreparedRequest
from runners.load.schedule import is_closed, stage_spans_ns
from runners.load.think import Think
from runners.protocol.errors import Finding, Refused
from runners.protocol.events import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpan:
    """When a stage of the load was in force: CLOCK_MONOTONIC ns; ``concurrency`` is null for a rate."""

    from_ns: int
    to_ns: int
    concurrency: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedStage:
    """So many slots at work, for a duration or until so many requests were created in it."""

    concurrency: int
    duration_ns: int | None
    requests: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLoop:
    """Requests in order of their offset from the start of the segment, and the spans of their stages."""

    requests: tuple[PreparedRequest, ...]
    offsets_ns: tuple[int, ...]
    spans_ns: tuple[tuple[int, int], ...] = ()

    def stage_spans(self, *, origin_ns: int, end_ns: int) -> tuple[StageSpan, ...]:
        """The stages that had begun before the sending ended."""
        return tuple(
            StageSpan(
                from_ns=origin_ns + from_ns, to_ns=min(origin_ns + to_ns, end_ns), concurrency=None
            )
            for from_ns, to_ns in self.spans_ns
            if origin_ns + from_ns < end_ns
        )


class ClosedLoop:
    """Slots that each send one request at a time; a slot takes its own rows first, then unassigned ones.

    With stages, the slots at and above the stage's concurrency are parked: each ends its request and then
    waits for a stage that wants it.
    """

    def __init__(
        self,
        requests: Iterable[PreparedRequest],
        *,
        slots: int,
        think: Think,
        stages: Sequence[ClosedStage] = (),
    ) -> None:
        self.think = think
        self.stages = tuple(stages)
        self._starts_ns: list[int] = []
        self._created_in_stage = 0
        self._own: dict[int, deque[PreparedRequest]] = {}
        self._shared: deque[PreparedRequest] = deque()
        for request in requests:
            slot = request.row["slot"]
            queue = self._shared if slot is None else self._own.setdefault(slot, deque())
            queue.append(request)
        named = sorted(self._own)
        free = (n for n in range(slots + len(named)) if n not in self._own)
        self.slots = named + [next(free) for _ in range(max(0, slots - len(named)))]
        self._parked = set(self.slots) if stages else set()

    @property
    def stage(self) -> ClosedStage | None:
        """The stage in force, if this loop has stages and the first has begun."""
        return self.stages[len(self._starts_ns) - 1] if self._starts_ns else None

    @property
    def next_stage(self) -> ClosedStage | None:
        begun = len(self._starts_ns)
        return self.stages[begun] if begun < len(self.stages) else None

    def enter(self, stage: ClosedStage, start_ns: int) -> list[int]:
        """Begin the next stage; the parked slots that are to send now, lowest first."""
        self._starts_ns.append(start_ns)
        self._created_in_stage = 0
        woken = sorted(slot for slot in self._parked if slot < stage.concurrency)
        self._parked.difference_update(woken)
        return woken

    def parks(self, slot: int) -> bool:
        """Whether the stage has no work for this slot, which then waits for one that has."""
        if self.stage is None or slot < self.stage.concurrency:
            return False
        self._parked.add(slot)
        return True

    def stage_is_full(self) -> bool:
        """Whether the stage has created all the requests it is for."""
        return self.stage is not None and self._created_in_stage == self.stage.requests

    def stage_spans(self, *, origin_ns: int, end_ns: int) -> tuple[StageSpan, ...]:
        """The stages that had begun, each to the start of the next, the last to the end of sending."""
        starts = self._starts_ns
        return tuple(
            StageSpan(from_ns=from_ns, to_ns=to_ns, concurrency=stage.concurrency)
            for stage, from_ns, to_ns in zip(
                self.stages, starts, [*starts[1:], end_ns], strict=False
            )
            if from_ns >= origin_ns
        )

    def take(self, slot: int) -> PreparedRequest | None:
        self._created_in_stage += 1
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
    if is_load and bool(timed) == is_closed(load):
        seen = "rows with offsets" if timed else "rows without offsets"
        raise _refused("plan.offset_ns", f"{seen}, load.kind {load['kind']}", "a plan of this load")
    if timed:
        in_time = sorted(timed, key=lambda r: (r.row["offset_ns"], r.row["sequence"]))
        if in_time[0].row["offset_ns"] < 0:
            raise _refused("plan.offset_ns", in_time[0].row["offset_ns"], "0 or more")
        return OpenLoop(
            requests=tuple(in_time),
            offsets_ns=tuple(r.row["offset_ns"] for r in in_time),
            spans_ns=stage_spans_ns(load) if is_load else (),
        )
    stages = _closed_stages(load) if is_load else ()
    unassigned = any(r.row["slot"] is None for r in ordered)
    return ClosedLoop(
        ordered,
        slots=_slots(load, stages, is_load=is_load) if unassigned else 0,
        think=Think.from_load(load) if is_load else Think(mean_s=0.0),
        stages=stages,
    )


def _slots(load: Mapping[str, Any], stages: Sequence[ClosedStage], *, is_load: bool) -> int:
    if stages:
        return max(stage.concurrency for stage in stages)
    return int(load["concurrency"]) if is_load else 1


def _closed_stages(load: Mapping[str, Any]) -> tuple[ClosedStage, ...]:
    if load["kind"] != "staged":
        return ()
    return tuple(
        ClosedStage(
            concurrency=stage["concurrency"],
            duration_ns=None if stage["duration_s"] is None else round(stage["duration_s"] * 1e9),
            requests=stage["requests"],
        )
        for stage in load["stages"]
    )


def _refused(field: str, seen: object, allowed: str) -> Refused:
    return Refused(
        Finding(field=field, seen=str(seen), allowed=allowed, remedy="Materialise the plan again.")
    )
