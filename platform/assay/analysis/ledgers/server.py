"""The server ledger: states that the server itself recorded, never inferred from the client.

A client's time-out or cancel is no state of the server. An attempt without a server record is
``undetermined``, with no time and no evidence. What was sent again on the way is received again: a gateway's
own retry is one attempt of the client and two lives at the server, and the ledger shows both.

An engine whose record names no request in its iterations never says that one was scheduled. Then its own
front end's first write of content bounds it: what was written had been computed. The row says so.
"""

from collections.abc import Sequence
from itertools import takewhile

from assay.analysis.documents import LedgerRow
from assay.analysis.events import Fact
from assay.analysis.ledgers.rows import Span, attempt_ids, rows_of
from assay.analysis.server_record import AGAIN, TERMINAL_STATES, Seen, ServerRecord
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ServerState

NO_RECORD = "no server record of this attempt"
INFERRED = "inferred: content was written by then; when it was scheduled is not recorded"
_WITH_WORDS = TERMINAL_STATES | {ServerState.received}


def sent_again(rows: Sequence[LedgerRow]) -> int:
    """How many deliveries of this attempt came beyond the first."""
    return sum((row["detail"] or "").endswith(AGAIN) for row in rows)


def server_rows(attempt: Attempt, record: ServerRecord | None, *, level: str) -> list[LedgerRow]:
    """States up to and with the terminal one of the last delivery; ``level`` is that of what showed them."""
    ids = attempt_ids(attempt.ids)
    if record is None or not record.states:
        return rows_of(
            [Span(state=ServerState.undetermined.value, from_ns=None, detail=NO_RECORD)],
            subject=attempt.attempt_id,
            subject_type="attempt",
            ids=ids,
            clock_domain=record.clock_domain if record is not None else attempt.clock_domain,
            error_ns=0,
            level=level,
        )
    spans: list[Span] = []
    lives = max(1, record.deliveries)
    for seen in _with_running(record):
        spans.append(
            Span(
                state=seen.state.value,
                from_ns=seen.t_ns,
                evidence=seen.evidence,
                # A reason belongs to a terminal state; how a running state was known does not split it.
                detail=seen.detail
                if seen.state in _WITH_WORDS or seen.detail == INFERRED
                else None,
            )
        )
        lives -= seen.state in TERMINAL_STATES
        if not lives:
            break
    return rows_of(
        spans,
        subject=attempt.attempt_id,
        subject_type="attempt",
        ids=ids,
        clock_domain=record.clock_domain,
        error_ns=record.error_ns or 0,
        level=level,
    )


def _with_running(record: ServerRecord) -> Sequence[Seen]:
    """Its states, with ``running`` from the first write of content where nothing recorded the scheduling.

    A write before the last state that precedes the end (printed times have an error) moves up to it.
    """
    written = record.marks.get(Fact.written)
    if written is None or any(seen.state is ServerState.running for seen in record.states):
        return record.states
    before = list(takewhile(lambda seen: seen.state not in TERMINAL_STATES, record.states))
    rest = record.states[len(before) :]
    since = max([written.t_ns, *(seen.t_ns for seen in before[-1:])])
    if not before or (rest and since >= rest[0].t_ns):
        return record.states
    return [*before, Seen(ServerState.running, since, written.evidence, INFERRED), *rest]
