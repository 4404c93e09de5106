"""Rows of the four ledgers: one state of one subject from an instant to the next.

A ledger is time-resolved: the rows of a subject follow each other, the last one is open-ended and is the
final state. Ledgers are joined by ids only and may disagree; the disagreement is a finding, not an error.
"""

from collections.abc import Sequence
from typing import NamedTuple

from assay.analysis.documents import LedgerRow
from assay.analysis.wire.attempt import AttemptIds


class Span(NamedTuple):
    """A state that began at ``from_ns`` (None: from when is unknown), with its evidence and a word on it."""

    state: str
    from_ns: int | None
    evidence: str | None = None
    detail: str | None = None


def rows_of(
    spans: Sequence[Span],
    *,
    subject: str,
    subject_type: str,
    ids: dict[str, str | None],
    clock_domain: str,
    error_ns: int,
    level: str,
) -> list[LedgerRow]:
    """Rows from states in time order. Each ends where the next begins; equal states in a row are one."""
    rows: list[LedgerRow] = []
    for span in spans:
        if rows and rows[-1]["state"] == span.state and rows[-1]["detail"] == span.detail:
            continue
        if rows:
            rows[-1]["to_ns"] = span.from_ns
        rows.append(
            {
                "subject": subject,
                "subject_type": subject_type,
                "ids": dict(ids),
                "state": span.state,
                "from_ns": span.from_ns,
                "to_ns": None,
                "clock_domain": clock_domain,
                "error_ns": error_ns,
                "evidence": span.evidence,
                "level": level,
                "detail": span.detail,
            }
        )
    return rows


def attempt_ids(ids: AttemptIds) -> dict[str, str | None]:
    return {**ids.as_dict(), "retry_of": ids.retry_of}
