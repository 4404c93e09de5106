"""Everything that is said of one attempt: its document, its ledger rows, lanes, ghost load and checks.

Each attempt is read by itself, so that a run of any length is read a batch at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.analysis import lanes
from assay.analysis.attempt_document import attempt_document
from assay.analysis.attempt_lanes import attempt_lanes
from assay.analysis.cancellation import cancel_checks
from assay.analysis.documents import AttemptReading, CancelCheck, GhostLoad, Lane, LedgerRow
from assay.analysis.ghost_load import ghost_load
from assay.analysis.ledgers.client import client_rows
from assay.analysis.ledgers.resource import ProcessRelease, levels_reached, resource_rows
from assay.analysis.ledgers.server import server_rows
from assay.analysis.levels import Levels
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What the reading of a single attempt needs to know of its run."""

    levels: Levels
    process_release: ProcessRelease | None = None
    block_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptParts:
    """One attempt as it is written down."""

    reading: AttemptReading
    client: list[LedgerRow]
    server: list[LedgerRow]
    resource: list[LedgerRow]
    lanes: list[Lane]
    ghost: GhostLoad | None
    checks: list[CancelCheck]


def attempt_parts(
    attempt: Attempt,
    record: ServerRecord | None,
    client_marks: Sequence[lanes.Mark],
    facts: RunFacts,
) -> AttemptParts:
    """``client_marks`` are the client's own event records of this attempt, where there are any."""
    levels = facts.levels
    seen_at = levels.server if record is not None else levels.client
    reached = levels_reached(record, _process_of(attempt, facts.process_release))
    return AttemptParts(
        reading=attempt_document(attempt, record),
        client=client_rows(attempt, level=levels.client),
        server=server_rows(attempt, record, level=seen_at),
        resource=resource_rows(attempt, record, reached, level=seen_at),
        lanes=attempt_lanes(attempt, record, client_marks),
        ghost=ghost_load(attempt, record, block_bytes=facts.block_bytes),
        checks=cancel_checks(attempt, record, reached),
    )


def _process_of(attempt: Attempt, release: ProcessRelease | None) -> ProcessRelease | None:
    return release if release is not None and release.clock_domain == attempt.clock_domain else None
