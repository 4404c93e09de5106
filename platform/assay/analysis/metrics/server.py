"""Metrics of one attempt from the server's own record, in the server's clock domain.

Server TTFT begins when the engine enqueued the call; none of these is ever filled from the client's side.
"""

from assay.analysis.absence import Absent
from assay.analysis.clocks import BoundaryResidual
from assay.analysis.events import Fact
from assay.analysis.metrics.client import ttft_first_content
from assay.analysis.metrics.rule import seconds
from assay.analysis.quantities import NS_PER_S
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt

NO_RECORD = "no server record of this attempt"
_NO_RECORD = Absent(NO_RECORD)


def _between(record: ServerRecord | None, start: Fact, end: Fact) -> float | Absent:
    if record is None:
        return _NO_RECORD
    return seconds(
        record.time_of(start),
        record.time_of(end),
        missing=f"the server's record lacks {start.value} or {end.value}",
    )


def ttft_server(_: Attempt, record: ServerRecord | None) -> float | Absent:
    """First token minus enqueued."""
    return _between(record, Fact.queued, Fact.first_token)


def e2e_server(_: Attempt, record: ServerRecord | None) -> float | Absent:
    """The server's end of the call (its last write, else its terminal state) minus enqueued."""
    if record is None:
        return _NO_RECORD
    return seconds(
        record.time_of(Fact.queued),
        record.end_ns,
        missing="the server's record lacks queued or an end",
    )


def queue_server(_: Attempt, record: ServerRecord | None) -> float | Absent:
    """Scheduled minus enqueued: the wait for the start of computation."""
    return _between(record, Fact.queued, Fact.scheduled)


def prefill_server(_: Attempt, record: ServerRecord | None) -> float | Absent:
    """First token minus scheduled. With chunked prefill other requests' work lies inside."""
    return _between(record, Fact.scheduled, Fact.first_token)


def decode_server(_: Attempt, record: ServerRecord | None) -> float | Absent:
    """Last token minus first token."""
    if record is None:
        return _NO_RECORD
    last = record.last_token
    return seconds(
        record.first_token_ns,
        last.t_ns if last is not None else None,
        missing="the server's record holds no tokens",
    )


def boundary_ttft(attempt: Attempt, record: ServerRecord | None) -> float | Absent:
    """Client TTFT minus server TTFT: a boundary residual of two local durations, with no direction."""
    outer, inner = ttft_first_content(attempt, record), ttft_server(attempt, record)
    if isinstance(outer, Absent):
        return outer
    if isinstance(inner, Absent):
        return inner
    residual = BoundaryResidual(outer_ns=round(outer * NS_PER_S), inner_ns=round(inner * NS_PER_S))
    return residual.value_ns / NS_PER_S
