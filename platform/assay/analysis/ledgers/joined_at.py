"""The four ledgers at one instant, side by side: each attempt's state in each, joined by ids alone.

Ledgers may disagree, and often do in between: a client that left is seen to leave a little later.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.absence import Absent
from assay.analysis.clocks import Instant
from assay.analysis.documents import LedgerRow
from assay.analysis.ledgers.at import state_at

NOT_YET = Absent("nothing was recorded up to this instant")
NO_SUBJECT = Absent("this ledger has no such subject")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptAt:
    """An attempt at an instant: the row that holds in each ledger, or why none can be named."""

    attempt_id: str
    ids: Mapping[str, str | None]
    client: LedgerRow | Absent
    server: LedgerRow | Absent
    task: LedgerRow | Absent
    resource: LedgerRow | Absent


def ledgers_at(
    ledgers: Mapping[str, Sequence[LedgerRow]], at: Instant, *, uncalibrated: Collection[str] = ()
) -> list[AttemptAt]:
    """Every attempt of the client ledger, in its order. ``uncalibrated``: clocks not mapped onto ``at``'s."""
    by_subject = {name: _by_subject(rows) for name, rows in ledgers.items()}

    def state(ledger: str, subject: str | None) -> LedgerRow | Absent:
        rows = by_subject[ledger].get(subject) if subject is not None else None
        return _state(rows, at, uncalibrated) if rows else NO_SUBJECT

    found = []
    for name, rows in by_subject["client"].items():
        ids = rows[0]["ids"]
        found.append(
            AttemptAt(
                attempt_id=name,
                ids=ids,
                client=state("client", name),
                server=state("server", name),
                task=state("task", ids.get("task_id")),
                resource=state("resource", name),
            )
        )
    return found


def _state(
    rows: Sequence[LedgerRow], at: Instant, uncalibrated: Collection[str]
) -> LedgerRow | Absent:
    foreign = {r["clock_domain"] for r in rows if r["from_ns"] is not None} & set(uncalibrated)
    if foreign:
        return Absent(f"its clock domain {min(foreign)} is not calibrated to the client's")
    found = state_at(rows, rows[0]["subject"], at)
    return NOT_YET if found is None else found


def _by_subject(rows: Sequence[LedgerRow]) -> dict[str, list[LedgerRow]]:
    found: dict[str, list[LedgerRow]] = {}
    for row in rows:
        found.setdefault(row["subject"], []).append(row)
    return found
