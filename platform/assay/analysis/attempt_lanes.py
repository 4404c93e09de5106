"""The two lanes of an attempt, from its marks on each side."""

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter, itemgetter

from assay.analysis import lanes
from assay.analysis.documents import Interval, Lane
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt

# Reader's words for what lies between two instants; any other pair is named by its two events.
_NAMES = {
    ("created", "connect_start"): "wait for a connection",
    ("connect_start", "connected"): "handshake",
    ("connected", "sent"): "send",
    ("created", "sent"): "send",
    ("sent", "first_byte"): "wait for first byte",
    ("sent", "first_content"): "wait for first content",
    ("first_byte", "first_content"): "wait for first content",
    ("first_content", "last_content"): "stream",
    ("last_content", "done"): "end of reply",
    ("last_content", "ended"): "until the client left",
    ("first_content", "ended"): "until the client left",
    ("front_received", "queued"): "front end",
    ("queued", "scheduled"): "queue",
    ("scheduled", "first_token"): "prefill",
    ("first_token", "last_token"): "decode",
    ("first_token", "front_written"): "first write",
    ("front_written", "last_token"): "decode",
    ("front_written", "finished"): "decode",
    ("first_token", "finished"): "decode",
    ("front_written", "front_disconnected"): "decode until the client left",
    ("front_disconnected", "last_token"): "step in flight when the client left",
    ("last_token", "cancelled"): "until it was dropped",
    ("front_disconnected", "cancelled"): "until it was dropped",
    ("last_token", "front_finished"): "last write",
    ("finished", "front_finished"): "last write",
}
# Of several marks at one instant the most telling one names it; else the earlier one does.
_TELLING = {"first_content": 3, "done": 2, "last_content": 1}
_MEASURED = lanes.Origin.measured.value
_NOT_ON_A_LANE = frozenset({"kv_taken", "kv_released", "clock", "config", "memory"})


def attempt_lanes(
    attempt: Attempt, record: ServerRecord | None, client_marks: Sequence[lanes.Mark]
) -> list[Lane]:
    """The client lane, and the server lane if the server left a record.

    ``client_marks`` are the client's own event records of the attempt; where there are at least two, they
    are the lane, else the instants of the wire are.
    """
    own = len(client_marks) > 1
    found = [_lane(attempt.attempt_id, client_marks) if own else _wire_lane(attempt)]
    if record is not None:
        found.append(_lane(attempt.attempt_id, _server_marks(record)))
    return [lane for lane in found if lane is not None]


def _wire_lane(attempt: Attempt) -> Lane | None:
    """What ``_lane`` makes of the instants of the wire, in a third of the time.

    They are of one clock and one side, and none is an interval: whatever lies between two of them in a row
    overlaps nothing, and the sum is last minus first.
    """
    told = _told(_wire_instants(attempt))
    if len(told) < 2:
        return None
    between = pairwise(told.items())
    intervals: list[Interval] = [
        {
            "name": _name(start, end),
            "start_event": start,
            "end_event": end,
            "from_ns": from_ns,
            "to_ns": to_ns,
            "on_path": True,
            "origin": _MEASURED,
        }
        for (from_ns, start), (to_ns, end) in between
    ]
    whole_ns = intervals[-1]["to_ns"] - intervals[0]["from_ns"]
    return Lane(
        attempt_id=attempt.attempt_id,
        perspective="client",
        clock_domain=attempt.clock_domain,
        intervals=intervals,
        sum_ns=whole_ns,
        end_minus_start_ns=whole_ns,
        cross_check=True,
        rejected=[],
    )


def _wire_instants(attempt: Attempt) -> list[tuple[str, int]]:
    reply = attempt.reply
    named = (
        ("created", attempt.created_ns),
        ("connect_start", attempt.connect_start_ns),
        ("connected", attempt.connected_ns),
        ("sent", attempt.sent_ns),
        ("first_byte", attempt.first_byte_ns),
        ("first_content", reply.first_content_ns),
        ("last_content", reply.last_content_ns),
        ("done", attempt.done_ns),
        ("ended", attempt.decided_ns),
    )
    return [(event, t_ns) for event, t_ns in named if t_ns is not None]


def _told(instants: list[tuple[str, int]]) -> dict[int, str]:
    """The event that names each instant, in order of time."""
    told: dict[int, str] = {}
    for event, t_ns in sorted(instants, key=itemgetter(1)):
        known = told.get(t_ns)
        if known is None or _TELLING.get(event, 0) > _TELLING.get(known, 0):
            told[t_ns] = event
    return told


def _name(start: str, end: str) -> str:
    return _NAMES.get((start, end)) or f"{start} to {end}"


def _server_marks(record: ServerRecord) -> list[lanes.Mark]:
    marks = [
        lanes.Mark(
            event=event,
            t_ns=t_ns,
            clock_domain=record.clock_domain,
            perspective="server",
            evidence=evidence,
        )
        for event, t_ns, evidence in record.lane
        if event not in _NOT_ON_A_LANE
    ]
    last, first = record.last_token, record.first_token_ns
    named = {mark.event for mark in marks}
    if last is not None and last.t_ns != first and not any(n.endswith("last_token") for n in named):
        marks.append(
            lanes.Mark(
                event="last_token",
                t_ns=last.t_ns,
                clock_domain=record.clock_domain,
                perspective="server",
                evidence=last.evidence,
            )
        )
    return marks


def _lane(attempt_id: str, marks: Sequence[lanes.Mark]) -> Lane | None:
    """Intervals between instants that differ; the sum is held against last minus first."""
    ordered = sorted(marks, key=attrgetter("t_ns"))
    told: dict[int, lanes.Mark] = {}
    for mark in ordered:
        known = told.get(mark.t_ns)
        if known is None or _TELLING.get(mark.event, 0) > _TELLING.get(known.event, 0):
            told[mark.t_ns] = mark
    distinct = list(told.values())
    if len(distinct) < 2:
        return None
    intervals = lanes.lane_of(distinct, _NAMES)
    checked = lanes.check_sum(intervals, start_ns=ordered[0].t_ns, end_ns=ordered[-1].t_ns)
    return Lane(
        attempt_id=attempt_id,
        perspective=distinct[0].perspective,
        clock_domain=distinct[0].clock_domain,
        intervals=[
            {
                "name": i.name,
                "start_event": i.start_event,
                "end_event": i.end_event,
                "from_ns": i.from_ns,
                "to_ns": i.to_ns,
                "on_path": i.on_path,
                "origin": i.origin.value,
            }
            for i in checked.accepted
        ],
        sum_ns=checked.sum_ns,
        end_minus_start_ns=checked.end_minus_start_ns,
        cross_check=checked.ok,
        rejected=list(checked.rejected),
    )
