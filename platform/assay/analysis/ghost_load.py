"""Ghost load: server time spent on an attempt after its client had given up.

It counts in the numerator of cost whatever became of the task. The window runs from the client's time-out,
cancel or cut to the end of the server's work on the attempt; it is split into computing, queueing and holding
state only as far as evidence goes. Computing is the wall time of iterations that carried the attempt, shared
batch included and not apportioned. Held state is an integral of bytes over time.
"""

from dataclasses import dataclass

from assay.analysis.absence import Absent
from assay.analysis.clocks import Instant, difference
from assay.analysis.documents import GhostLoad
from assay.analysis.quantities import NS_PER_S
from assay.analysis.server_record import TERMINAL_STATES, ServerRecord
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState, ServerState

GIVING_UP = frozenset({ClientState.timeout, ClientState.cancelled})


def gave_up(attempt: Attempt) -> bool:
    """The client left before the server's answer was over: time-out, cancel, or a cut connection."""
    if attempt.state in GIVING_UP:
        return True
    failure = attempt.failure or ""
    return attempt.state is ClientState.failed and failure.startswith(
        ("transport", "connection_lost")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """The ghost window on the server's clock."""

    from_ns: int
    to_ns: int


def ghost_load(
    attempt: Attempt, record: ServerRecord | None, *, block_bytes: int | None
) -> GhostLoad | None:
    """The ghost load of an attempt whose client gave up; None for any other attempt."""
    if not gave_up(attempt) or attempt.decided_ns is None:
        return None
    start_ns = attempt.decided_ns
    if record is None or (end_ns := _server_end(record)) is None:
        reason = (
            "no server record: when the server stopped is unknown"
            if record is None
            else "the server's record holds no end of this attempt"
        )
        return _unknown(attempt.attempt_id, start_ns, reason)
    left = Instant(
        t_ns=start_ns, clock_domain=attempt.clock_domain, error_ns=attempt.clock_error_ns
    )
    span = difference(left, record.instant(end_ns))
    if isinstance(span, Absent):
        return _unknown(attempt.attempt_id, start_ns, span.reason)
    if span.point_ns is None and span.high_ns > 0:
        return _unknown(
            attempt.attempt_id,
            start_ns,
            f"between {span.low_ns} and {span.high_ns} ns: the clocks' error bound is not smaller",
        )
    window = _Window(from_ns=start_ns, to_ns=max(end_ns, start_ns))
    total = window.to_ns - window.from_ns
    computing = _computing_ns(record, window)
    queueing = _queueing_ns(record, window)
    holding, byte_s = _holding(record, window, computing, block_bytes)
    return GhostLoad(
        attempt_id=attempt.attempt_id,
        from_ns=start_ns,
        to_ns=window.to_ns,
        total_ns=total,
        computing_ns=computing,
        queueing_ns=queueing,
        holding_ns=holding,
        kv_byte_s=byte_s,
        error_ns=span.half_width_ns,
        absent=None,
    )


def held_byte_s(record: ServerRecord, *, from_ns: int, to_ns: int, block_bytes: int) -> float:
    """Cost of held memory: the integral of held bytes over time, in byte seconds (not a residence time)."""
    return _block_ns(record, _Window(from_ns=from_ns, to_ns=to_ns)) * block_bytes / NS_PER_S


def integral_byte_s(held_bytes: float, duration_s: float) -> float:
    """Bytes held constantly for a time: bytes x seconds."""
    return held_bytes * duration_s


def physical_copies(holders: dict[str, str]) -> int:
    """How many copies of state are charged: distinct physical blocks, however many holders share them.

    ``holders`` maps holder to physical block id.
    """
    return len(set(holders.values()))


def _server_end(record: ServerRecord) -> int | None:
    terminal = record.terminal
    if terminal is None:
        return None
    ends = [terminal.t_ns]
    if record.kv and sum(k.blocks for k in record.kv) <= 0:
        ends.append(record.kv[-1].t_ns)
    if record.step_starts_ns:
        ends.append(record.step_starts_ns[-1] + record.step_durations_ns[-1])
    return max(ends)


def _computing_ns(record: ServerRecord, window: _Window) -> int | None:
    """Wall time of the attempt's iterations inside the window; None without an iteration record."""
    if not record.step_starts_ns:
        return None
    return sum(
        _overlap(window, start, start + duration)
        for start, duration in zip(record.step_starts_ns, record.step_durations_ns, strict=True)
    )


def _queueing_ns(record: ServerRecord, window: _Window) -> int | None:
    """Time in the queue inside the window; None unless the engine records its iterations (else a state seen
    at one instant would be taken for a queue record)."""
    if not record.step_starts_ns and not record.kv:
        return None
    total = 0
    for seen, after in zip(record.states, [*record.states[1:], None], strict=True):
        if seen.state in TERMINAL_STATES:
            break
        if seen.state is ServerState.queued:
            end = after.t_ns if after is not None else window.to_ns
            total += _overlap(window, seen.t_ns, end)
    return total


def _holding(
    record: ServerRecord, window: _Window, computing_ns: int | None, block_bytes: int | None
) -> tuple[int | None, float | None]:
    """Time in which blocks were held beyond computing, and the integral of held bytes."""
    if not record.kv:
        return None, None
    held_ns = 0
    held, since = 0, 0
    for change in record.kv:
        if held > 0:
            held_ns += _overlap(window, since, change.t_ns)
        held, since = held + change.blocks, change.t_ns
    if held > 0:
        held_ns += _overlap(window, since, window.to_ns)
    holding = None if computing_ns is None else max(0, held_ns - computing_ns)
    byte_s = None
    if block_bytes is not None:
        byte_s = _block_ns(record, window) * block_bytes / NS_PER_S
    return holding, byte_s


def _block_ns(record: ServerRecord, window: _Window) -> int:
    total = held = since = 0
    for change in record.kv:
        total += held * _overlap(window, since, change.t_ns)
        held, since = held + change.blocks, change.t_ns
    return total + held * _overlap(window, since, window.to_ns)


def _overlap(window: _Window, start: int, end: int) -> int:
    return max(0, min(window.to_ns, end) - max(window.from_ns, start))


def _unknown(attempt_id: str, from_ns: int, reason: str) -> GhostLoad:
    return GhostLoad(
        attempt_id=attempt_id,
        from_ns=from_ns,
        to_ns=None,
        total_ns=None,
        computing_ns=None,
        queueing_ns=None,
        holding_ns=None,
        kv_byte_s=None,
        error_ns=None,
        absent=reason,
    )
