"""Ledgers at an instant: which state a subject was in, and which states it ended in."""

from collections import Counter
from collections.abc import Iterable

from assay.analysis.absence import Absent
from assay.analysis.clocks import Instant, difference
from assay.analysis.documents import LedgerRow


def state_at(rows: Iterable[LedgerRow], subject: str, at: Instant) -> LedgerRow | Absent | None:
    """The row of ``subject`` that holds at ``at``; None before its first one.

    A row holds from its start (included) to its end (excluded). If the instant lies in another clock domain
    and the error bounds leave open on which side of a change it falls, or no bound is known, Absent says so.
    """
    found: LedgerRow | None = None
    for row in rows:
        if row["subject"] != subject:
            continue
        if row["from_ns"] is None:
            found = row
            continue
        start = Instant(
            t_ns=row["from_ns"],
            clock_domain=row["clock_domain"],
            error_ns=row["error_ns"],
        )
        since = difference(start, at)
        if isinstance(since, Absent):
            return since
        if since.low_ns < 0 <= since.high_ns and since.half_width_ns:
            return Absent(
                f"{row['state']} began within {since.half_width_ns} ns of this instant: the error bound"
            )
        if since.estimate_ns >= 0:
            found = row
    return found


def final_rows(rows: Iterable[LedgerRow]) -> dict[str, LedgerRow]:
    """The last row of each subject: its final state."""
    return {row["subject"]: row for row in rows}


def final_counts(rows: Iterable[LedgerRow]) -> dict[str, int]:
    """How many subjects ended in each state."""
    return dict(Counter(row["state"] for row in final_rows(rows).values()))
