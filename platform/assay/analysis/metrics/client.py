"""Metrics of one attempt that the client alone can see.

All of them are differences in the client's own clock domain. What the client saw after it had given up is
late: it is kept and counted, and no latency is taken from it.
"""

from assay.analysis.absence import Absent
from assay.analysis.metrics.rule import seconds
from assay.analysis.quantities import NS_PER_S
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt

_NO_SEND = "no send time was recorded"


def _in_time(attempt: Attempt, t_ns: int | None) -> bool:
    gave_up = attempt.gave_up_ns
    return t_ns is not None and (gave_up is None or t_ns <= gave_up)


def _from_send(attempt: Attempt, t_ns: int | None, what: str) -> float | Absent:
    if attempt.sent_ns is None:
        return Absent(_NO_SEND)
    if t_ns is None:
        return Absent(f"{what} was not seen")
    if not _in_time(attempt, t_ns):
        return Absent(f"{what} came after the client had given up")
    return (t_ns - attempt.sent_ns) / NS_PER_S


def ttft_first_byte(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """First response byte minus send. Headers or an empty role chunk count: this is no first token."""
    return _from_send(attempt, attempt.first_byte_ns, "a response byte")


def ttft_first_content(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """First non-empty answer, reasoning, tool-call or refusal delta minus send."""
    return _from_send(attempt, attempt.reply.first_content_ns, "a content event")


def ttft_first_visible(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """First non-empty answer delta minus send: what a reader of the answer waits for."""
    return _from_send(attempt, attempt.reply.first_visible_ns, "a visible answer delta")


def e2e(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """Terminal event (``[DONE]``, else the end of the body) minus send."""
    return _from_send(attempt, attempt.done_ns, "the end of the reply")


def _tokens_beyond_first(attempt: Attempt) -> int | Absent:
    tokens = attempt.output_tokens
    if tokens is None:
        return Absent("the number of output tokens is unknown: neither token ids nor usage came")
    if tokens <= 1:
        return Absent(f"undefined at {tokens} output token(s): there is no interval between tokens")
    return tokens - 1


def tpot_last_token(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """(last content - first content) / (N - 1); N from token ids, else usage. Undefined for N <= 1."""
    intervals = _tokens_beyond_first(attempt)
    if isinstance(intervals, Absent):
        return intervals
    last = attempt.reply.last_content_ns
    if not _in_time(attempt, last):
        return Absent(
            "content came after the client had given up" if last else "no content event came"
        )
    if len(attempt.reply.chunk_times_ns) == 1:
        return Absent("all content came in one event: there is no interval between arrivals")
    span = seconds(attempt.reply.first_content_ns, last, missing="no content event came")
    return span if isinstance(span, Absent) else span / intervals


def tpot_done(attempt: Attempt, record: ServerRecord | None) -> float | Absent:
    """(end to end - TTFT) / (N - 1): ends at completion, not at the last token (section 1.4.2)."""
    intervals = _tokens_beyond_first(attempt)
    if isinstance(intervals, Absent):
        return intervals
    whole, first = e2e(attempt, record), ttft_first_content(attempt, record)
    if isinstance(whole, Absent):
        return whole
    return first if isinstance(first, Absent) else (whole - first) / intervals


def chunk_gaps(attempt: Attempt, _: ServerRecord | None) -> list[float] | Absent:
    """Times between consecutive content events as they arrived. Chunks are no tokens."""
    gaps = attempt.content_gaps_s()
    if not gaps:
        return Absent(f"{_events_in_time(attempt)} content event(s): there is no gap")
    return gaps


def _events_in_time(attempt: Attempt) -> int:
    times, gave_up = attempt.reply.chunk_times_ns, attempt.gave_up_ns
    return len(times) if gave_up is None else sum(t_ns <= gave_up for t_ns in times)


def token_gaps(attempt: Attempt, record: ServerRecord | None) -> list[float] | Absent:
    """Times between tokens: the chunk gaps, if every content event is known to carry exactly one token."""
    gaps = chunk_gaps(attempt, record)
    if isinstance(gaps, Absent):
        return gaps
    counts = attempt.reply.chunk_tokens
    if counts.count(1) == len(counts):
        return gaps
    for position, tokens in enumerate(counts, start=1):
        if tokens is None:
            return Absent(f"how many tokens content event {position} carries is unknown")
        if tokens != 1:
            return Absent(f"content event {position} carries {tokens} tokens, not one")
    return gaps


def mean_chunk_gap(attempt: Attempt, record: ServerRecord | None) -> float | Absent:
    gaps = chunk_gaps(attempt, record)
    return gaps if isinstance(gaps, Absent) else sum(gaps) / len(gaps)


def mean_token_gap(attempt: Attempt, record: ServerRecord | None) -> float | Absent:
    gaps = token_gaps(attempt, record)
    return gaps if isinstance(gaps, Absent) else sum(gaps) / len(gaps)


def latency_from_scheduled(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """Terminal event minus the scheduled time: what a user waited whom a late client kept waiting."""
    if attempt.scheduled_ns is None:
        return Absent(attempt.unscheduled.value)
    if not _in_time(attempt, attempt.done_ns):
        return Absent("the end of the reply was not seen")
    return seconds(
        attempt.scheduled_ns, attempt.done_ns, missing="the end of the reply was not seen"
    )


def ttft_from_scheduled(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """First content event minus the scheduled time."""
    if attempt.scheduled_ns is None:
        return Absent(attempt.unscheduled.value)
    first = attempt.reply.first_content_ns
    if not _in_time(attempt, first):
        return Absent("a content event was not seen in time")
    return seconds(attempt.scheduled_ns, first, missing="a content event was not seen")


def send_lag(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """Send minus scheduled, less a handshake of its own connection: how late the client itself was."""
    if attempt.scheduled_ns is None:
        return Absent(attempt.unscheduled.value)
    lag = seconds(attempt.scheduled_ns, attempt.sent_ns, missing=_NO_SEND)
    shake = handshake(attempt, None)
    return lag if isinstance(lag, Absent) or isinstance(shake, Absent) else lag - shake


def handshake(attempt: Attempt, _: ServerRecord | None) -> float | Absent:
    """Time to open the connection, where the attempt opened one of its own."""
    if attempt.connection_reused:
        return Absent("the connection was reused: no handshake")
    return seconds(
        attempt.connect_start_ns, attempt.connected_ns, missing="no handshake was recorded"
    )
