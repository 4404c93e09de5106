"""The resource ledger: state held for an attempt, and how far it came back.

Four release levels, weakest first: computing for the request stopped; its blocks are no longer held; the
blocks may be allocated again; the process gave memory back to the device. Each needs evidence of its own.
Without any, the state is ``unknown``: a short-term memory reading proves and disproves nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.analysis.documents import LedgerRow
from assay.analysis.events import Fact
from assay.analysis.ledgers.rows import Span, attempt_ids, rows_of
from assay.analysis.server_record import ServerRecord
from assay.analysis.wire.attempt import Attempt
from runners.protocol.events import ReleaseLevel, ReleaseState

ORDER = tuple(ReleaseLevel)
NO_EVIDENCE = "no evidence of any release level"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A release level, when it was reached (None: somewhere in the session) and by what evidence."""

    level: ReleaseLevel
    t_ns: int | None
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRelease:
    """The session's check that the engine's processes are gone and their memory is back."""

    t_ns: int | None
    clock_domain: str
    evidence: str


def levels_reached(
    record: ServerRecord | None, process: ProcessRelease | None
) -> dict[ReleaseLevel, Reached]:
    """The first evidence of each level for one attempt.

    ``computing_stopped`` is known from the engine's terminal event; the block levels from its release events
    (all blocks back: the levels they name); ``process_returned`` from the session's own check, which holds
    for every attempt of the process.
    """
    found: dict[ReleaseLevel, Reached] = {}
    if record is not None:
        _from_record(record, found)
    if process is not None:
        found[ReleaseLevel.process_returned] = Reached(
            level=ReleaseLevel.process_returned, t_ns=process.t_ns, evidence=process.evidence
        )
    return found


def _from_record(record: ServerRecord, found: dict[ReleaseLevel, Reached]) -> None:
    terminal = record.terminal
    if terminal is not None and terminal.evidence is not None and _is_loop_word(record):
        found[ReleaseLevel.computing_stopped] = Reached(
            level=ReleaseLevel.computing_stopped,
            t_ns=_last_computing_ns(record, terminal.t_ns),
            evidence=terminal.evidence,
        )
    held = 0
    for change in record.kv:
        held += change.blocks
        if change.blocks > 0:
            # Taken (again): a release before a preemption's end is not the final one.
            for level in ORDER[1:3]:
                found.pop(level, None)
            continue
        if held > 0 or change.evidence is None:
            continue
        level = ReleaseLevel(change.level) if change.level in ORDER else ReleaseLevel.blocks_dropped
        for reached in ORDER[1 : ORDER.index(level) + 1]:
            found.setdefault(
                reached, Reached(level=reached, t_ns=change.t_ns, evidence=change.evidence)
            )
    for name, mark in record.releases:
        if name in ORDER and mark.evidence is not None:
            level = ReleaseLevel(name)
            found.setdefault(level, Reached(level=level, t_ns=mark.t_ns, evidence=mark.evidence))


def _is_loop_word(record: ServerRecord) -> bool:
    """Only an engine that records its iterations can say when computing for a request stopped."""
    return len(record.step_starts_ns) > 0 or (Fact.queued in record.marks and bool(record.kv))


def _last_computing_ns(record: ServerRecord, terminal_ns: int) -> int:
    if not record.step_starts_ns:
        return terminal_ns
    return max(terminal_ns, record.step_starts_ns[-1] + record.step_durations_ns[-1])


def resource_rows(
    attempt: Attempt,
    record: ServerRecord | None,
    reached: Mapping[ReleaseLevel, Reached],
    *,
    level: str,
) -> list[LedgerRow]:
    """held, then released by level in the order the levels were reached; unknown without evidence."""
    spans: list[Span] = []
    taken = record.marks.get(Fact.kv_taken) if record is not None else None
    if taken is not None:
        spans.append(
            Span(state=ReleaseState.held.value, from_ns=taken.t_ns, evidence=taken.evidence)
        )
    # A level that is not of this attempt's own record (the process's end) does not by itself show release.
    own = [r for r in reached.values() if r.level is not ReleaseLevel.process_returned]
    for r in sorted(reached.values(), key=lambda r: (r.t_ns is None, r.t_ns, ORDER.index(r.level))):
        if not own and taken is None:
            break
        spans.append(
            Span(
                state=ReleaseState.released.value,
                from_ns=r.t_ns,
                evidence=r.evidence,
                detail=r.level.value,
            )
        )
    if not spans:
        spans.append(Span(state=ReleaseState.unknown.value, from_ns=None, detail=NO_EVIDENCE))
    return rows_of(
        spans,
        subject=attempt.attempt_id,
        subject_type="attempt",
        ids=attempt_ids(attempt.ids),
        clock_domain=record.clock_domain if record is not None else attempt.clock_domain,
        error_ns=(record.error_ns or 0) if record is not None else 0,
        level=level,
    )
