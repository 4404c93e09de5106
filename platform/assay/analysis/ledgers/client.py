"""The client ledger: what the caller of an attempt did and saw. ``created`` and ``sent`` are two states."""

from assay.analysis.documents import LedgerRow
from assay.analysis.ledgers.rows import Span, attempt_ids, rows_of
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ClientState

CREATED = "created"
SENT = "sent"
_EVIDENCE_OF = {
    ClientState.timeout: "timeout",
    ClientState.cancelled: "cancel",
    ClientState.failed: "error",
}


def client_rows(attempt: Attempt, *, level: str) -> list[LedgerRow]:
    """created, sent, then the one final client state, from the instant that decided it."""
    spans: list[Span] = []
    evidence = attempt.evidence
    if attempt.created_ns is not None:
        spans.append(
            Span(state=CREATED, from_ns=attempt.created_ns, evidence=evidence.get("created"))
        )
    if attempt.sent_ns is not None:
        spans.append(Span(state=SENT, from_ns=attempt.sent_ns, evidence=evidence.get("sent")))
    decided = attempt.decided_ns
    if attempt.state is not ClientState.unfinalised or not spans:
        named = _EVIDENCE_OF.get(attempt.state, "closed")
        spans.append(
            Span(
                state=attempt.state.value,
                from_ns=decided,
                evidence=evidence.get(named) or evidence.get("closed") or evidence.get("row"),
                detail=attempt.failure,
            )
        )
    else:
        last = spans[-1].from_ns
        known = [t for t in (last, attempt.reply.last_read_ns, attempt.headers_ns) if t is not None]
        spans.append(
            Span(
                state=ClientState.unfinalised.value,
                from_ns=max(known),
                evidence=evidence.get("row"),
                detail="the record ends without a terminal fact",
            )
        )
    return rows_of(
        spans,
        subject=attempt.attempt_id,
        subject_type="attempt",
        ids=attempt_ids(attempt.ids),
        clock_domain=attempt.clock_domain,
        error_ns=attempt.clock_error_ns,
        level=level,
    )
