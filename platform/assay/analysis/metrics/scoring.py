"""Metrics of one call that produces no tokens: an embedding, a rerank or a score.

They have no first token and no gaps between tokens; what is waited for is the whole reply. None of these is a
metric of generation, and none of generation's is one of theirs.
"""

from assay.analysis.absence import Absent
from assay.analysis.events import Fact
from assay.analysis.metrics.client import e2e, latency_from_scheduled
from assay.analysis.metrics.rule import seconds
from assay.analysis.metrics.server import NO_RECORD
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt


def latency(attempt: Attempt, record: ServerRecord | None) -> float | Absent:
    """End of the reply minus send."""
    return e2e(attempt, record)


def from_scheduled(attempt: Attempt, record: ServerRecord | None) -> float | Absent:
    """End of the reply minus the scheduled time."""
    return latency_from_scheduled(attempt, record)


def time_per_item(attempt: Attempt, record: ServerRecord | None) -> float | Absent:
    """Latency by the items of the reply. Items of a call are computed together: it is no item's own time."""
    scored = attempt.reply.scored
    if scored is None or not scored.items:
        return Absent("no item was answered")
    whole = e2e(attempt, record)
    return whole if isinstance(whole, Absent) else whole / scored.items


def queue(_: Attempt, record: ServerRecord | None) -> float | Absent:
    """First text scheduled minus enqueued."""
    return _between(record, Fact.queued, Fact.scheduled)


def compute(_: Attempt, record: ServerRecord | None) -> float | Absent:
    """Last text done minus first text scheduled. Other requests' steps lie inside."""
    return _between(record, Fact.scheduled, Fact.completed)


def _between(record: ServerRecord | None, start: Fact, end: Fact) -> float | Absent:
    if record is None:
        return Absent(NO_RECORD)
    return seconds(
        record.time_of(start),
        record.time_of(end),
        missing=f"the server's record lacks {start.value} or {end.value}",
    )
