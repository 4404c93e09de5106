"""Version records as pages show them: each statement in the version's own words, until a run showed it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.accounts.access import Access
from assay.ledger.visibility import visible_runs
from assay.versions.confirming import THE_VERSION
from assay.versions.models import Confirmation
from assay.versions.queries import shown_by
from experiments.changes.record import Change, VersionRecord
from experiments.changes.rules import migration_step, worded
from experiments.errors import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """``step`` is what to do about it; where the reading carries none, ``why_no_step`` says so."""

    change: Change
    words: str
    shown: Confirmation | None
    step: str
    why_no_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """``shown`` is the run whose engine answered this version."""

    record: VersionRecord
    shown: Confirmation | None
    rows: list[ChangeRow]


def views(records: Sequence[VersionRecord], access: Access) -> list[RecordView]:
    """Newest first."""
    shown = shown_by((record.id for record in records), runs=visible_runs(access))
    return [_view(record, shown) for record in reversed(records)]


def _view(record: VersionRecord, shown: Mapping[tuple[str, str], Confirmation]) -> RecordView:
    return RecordView(
        record=record,
        shown=shown.get((record.id, THE_VERSION)),
        rows=[_row(record, change, shown) for change in record.changes],
    )


def _row(
    record: VersionRecord, change: Change, shown: Mapping[tuple[str, str], Confirmation]
) -> ChangeRow:
    found = next((c for n in change.names if (c := shown.get((record.id, n)))), None)
    step, why_no_step = "", ""
    if change.trips:
        try:
            step = migration_step(record, change)
        except Refusal as refusal:
            why_no_step = f"no step: {refusal.findings[0].seen}"
    return ChangeRow(
        change=change,
        words=worded(record, change.kind.value, shown_by=str(found.run_id)[:8] if found else None),
        shown=found,
        step=step,
        why_no_step=why_no_step,
    )
